// One core's state: warps that issue or wait, its L1 cache and its TLB.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/cores/cache_sets.hpp"
#include "sim/cores/cta_feed.hpp"
#include "sim/cores/schedule.hpp"
#include "sim/machine.hpp"

namespace isthmus::sim {

/// A slot for a running warp. One cache line of the host CPU.
struct alignas(64) Warp {
  const Operation* operation = nullptr;  ///< in its CTA's operations
  const PlacedLine* lines = nullptr;     ///< in its CTA's lines
  std::uint32_t line = 0;                ///< of the operation: the next one for the load/store unit
  std::uint32_t pending = 0;             ///< lines not yet here, plus one while the unit handles it
  std::uint16_t cta_slot = 0;            ///< in its core
  std::uint16_t number = 0;              ///< in its CTA
  std::uint16_t stream = 0;              ///< of its kernel
  bool at_barrier = false;
  bool running = false;
  Picoseconds since_ps = 0;        ///< when it was ready, or its operation began
  Picoseconds ready_ps = 0;        ///< when all known lines are here
  Picoseconds translation_ps = 0;  ///< the last line's wait for it
  Picoseconds migration_ps = 0;
};

/// A slot for a running CTA.
struct CtaSlot {
  CtaWork work;
  std::uint32_t number = 0;
  std::uint32_t stream = 0;          ///< of its kernel
  std::vector<std::uint16_t> warps;  ///< in its core
  std::uint32_t running_warps = 0;   ///< 0: the slot is free
  std::uint32_t at_barrier = 0;
  Picoseconds start_ps = 0;
};

/// A line in flight to a core, and the warps that wait for it.
struct Miss {
  Picoseconds translation_ps = 0;
  std::size_t l1_way = CacheSets::kNowhere;  ///< the way that it will fill
  std::uint32_t num_waiters = 0;
};

/// A miss entry, and the time when it becomes free.
struct Fill {
  Picoseconds time_ps = 0;
  std::uint32_t miss = 0;
};

/// Fills in order of time. Most arrive in that order.
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

/// Miss entries with a known time of arrival. L2 hits arrive before earlier requests to DRAM:
/// therefore two queues, each nearly in order.
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

/// What L1 keeps for a line besides its tag: its place and, while it is in flight, its miss entry.
struct L1Note {
  std::uint64_t bits = 0;  // like PlacedLine, with the miss in place of the line's number

  static L1Note of(PlacedLine place, std::uint32_t miss) {
    return {(place.bits & ~0xFFFF'FFFFULL) | miss};
  }
  std::uint32_t miss() const { return static_cast<std::uint32_t>(bits); }
  PlacedLine place(std::uint64_t tag) const {
    return {(bits & ~0xFFFF'FFFFULL) | static_cast<std::uint32_t>(tag)};
  }
};

/// Data only; the rules are in Cores.
struct Core {
  explicit Core(const ModelledMachine& machine);

  Picoseconds issue_free_ps = 0;
  Picoseconds unit_free_ps = 0;    ///< load/store unit
  Picoseconds horizon_ps = 0;      ///< how far the unit may look ahead
  Picoseconds resume_ps = 0;       ///< when the stalled unit continues; kNever: unknown
  Picoseconds wake_before_ps = 0;  ///< a line that arrives before this wakes the unit
  std::uint32_t stores = 0;        ///< sent, and not yet taken by a partition
  bool stalled = false;
  std::vector<std::uint32_t> queue;  ///< warps waiting for the unit: a ring of max_warps
  std::uint32_t queue_first = 0;
  std::uint32_t queue_size = 0;
  std::vector<Warp> warps;
  std::vector<CtaSlot> ctas;
  Lookaside tlb;
  CacheSets l1;  ///< times: kNever while unknown
  std::vector<Miss> misses;
  std::vector<std::uint16_t> waiters;  ///< [misses x merges], warps
  std::vector<std::uint16_t> free_misses;
  Fills fills;
  std::vector<std::uint16_t> free_warps;  ///< a heap, the lowest on top
  std::uint32_t num_ctas = 0;             ///< that run
  std::uint64_t share_taken = 0;          ///< of registers and shared memory, in 2^-32: see Kernel
};

}  // namespace isthmus::sim
