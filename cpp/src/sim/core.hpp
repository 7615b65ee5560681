// One core's state: what issues, what waits, its L1 cache and its TLB.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/cache_sets.hpp"
#include "sim/cta_feed.hpp"
#include "sim/lookaside.hpp"
#include "sim/machine.hpp"
#include "sim/schedule.hpp"

namespace isthmus::sim {

/// A warp that runs, or room for one. A line of the CPU's cache.
struct alignas(64) Warp {
  const Operation* operation = nullptr;  ///< of its CTA
  const PlacedLine* lines = nullptr;     ///< its CTA's
  std::uint32_t line = 0;                ///< next one of the operation for the load/store unit
  std::uint32_t pending = 0;             ///< lines not yet here, and one while the unit is at it
  std::uint16_t cta_slot = 0;            ///< of its core
  bool at_barrier = false;
  bool running = false;
  Picoseconds since_ps = 0;        ///< ready, or its operation's begin
  Picoseconds ready_ps = 0;        ///< when all lines known so far are here
  Picoseconds translation_ps = 0;  ///< that the last of them waited
  Picoseconds migration_ps = 0;
};

/// A CTA that runs, or room for one.
struct CtaSlot {
  CtaWork work;
  std::uint32_t number = 0;
  std::uint32_t running_warps = 0;
  std::uint32_t at_barrier = 0;
  Picoseconds start_ps = 0;
};

/// A line on its way to a core, and the warps that wait for it.
struct Miss {
  Picoseconds translation_ps = 0;
  std::size_t l1_way = CacheSets::kNowhere;  ///< that it will fill
  std::uint32_t num_waiters = 0;
};

/// A miss entry that will be free.
struct Fill {
  Picoseconds time_ps = 0;
  std::uint32_t miss = 0;
};

/// Fills in the order of time. Most come in that order.
class FillQueue {
public:
  explicit FillQueue(std::size_t most) : ring_(std::bit_ceil(most)) {}

  bool empty() const { return size_ == 0; }
  Picoseconds first_ps() const { return size_ == 0 ? kNever : ring_[first_].time_ps; }
  Picoseconds last_ps() const { return size_ == 0 ? 0 : ring_[index(size_ - 1)].time_ps; }
  std::uint32_t take_first() {
    const std::uint32_t miss = ring_[first_].miss;
    first_ = index(1);
    --size_;
    return miss;
  }
  void append(const Fill& fill) { ring_[index(size_++)] = fill; }
  void insert(const Fill& fill) {
    std::size_t place = size_++;
    for (; place != 0 && ring_[index(place - 1)].time_ps > fill.time_ps; --place) {
      ring_[index(place)] = ring_[index(place - 1)];
    }
    ring_[index(place)] = fill;
  }

private:
  std::size_t index(std::size_t place) const { return (first_ + place) & (ring_.size() - 1); }

  std::vector<Fill> ring_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

/// Miss entries whose lines' times are known. What L2 had is there before what DRAM was asked for
/// earlier: two queues, each nearly in order.
class Fills {
public:
  explicit Fills(std::size_t most) : late_(most), early_(most) {}

  Picoseconds first_ps() const { return std::min(late_.first_ps(), early_.first_ps()); }
  std::uint32_t take_first() {
    return late_.first_ps() < early_.first_ps() ? late_.take_first() : early_.take_first();
  }
  void insert(const Fill& fill) {
    if (late_.last_ps() <= fill.time_ps) return late_.append(fill);
    early_.insert(fill);
  }

private:
  FillQueue late_, early_;
};

/// What L1 keeps of a line beside its tag: where it lies, and while it is on its way, which miss
/// brings it.
struct L1Note {
  std::uint64_t bits = 0;  // as PlacedLine, with the miss in place of the line's number

  static L1Note of(PlacedLine place, std::uint32_t miss) {
    return {(place.bits & ~0xFFFF'FFFFULL) | miss};
  }
  std::uint32_t miss() const { return static_cast<std::uint32_t>(bits); }
  PlacedLine place(std::uint64_t tag) const {
    return {(bits & ~0xFFFF'FFFFULL) | static_cast<std::uint32_t>(tag)};
  }
};

/// Data only; Cores has the rules.
struct Core {
  explicit Core(const Machine& machine);

  Picoseconds issue_free_ps = 0;
  Picoseconds unit_free_ps = 0;    ///< load/store unit
  Picoseconds horizon_ps = 0;      ///< until when the unit may look ahead
  Picoseconds resume_ps = 0;       ///< when the stalled unit goes on; kNever: not known
  Picoseconds wake_before_ps = 0;  ///< a line that comes before this lets it go on
  bool stalled = false;
  std::vector<std::uint32_t> queue;  ///< warps at the unit: a ring of max_warps
  std::uint32_t queue_first = 0;
  std::uint32_t queue_size = 0;
  std::vector<Warp> warps;
  std::vector<CtaSlot> ctas;
  Lookaside tlb;
  CacheSets l1;  ///< times: kNever while nobody knows
  std::vector<Miss> misses;
  std::vector<std::uint16_t> waiters;  ///< [misses x merges], warps
  std::vector<std::uint16_t> free_misses;
  Fills fills;
};

}  // namespace isthmus::sim
