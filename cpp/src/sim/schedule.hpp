// What events mean, and how a line request fits into one.
#pragma once

#include <cstdint>

#include "sim/event_queue.hpp"

namespace isthmus::sim {

/// Widths are checked by check_machine: 256 cores, 256 partitions, 4095 misses, 65536 L2 sets.
enum class EventKind : std::uint8_t {
  warp_ready,  ///< index: warp; may issue its next instructions
  execute,     ///< index: warp; these are through, its memory operation begins
  resume,      ///< index: core; its load/store unit may go on
  translate,   ///< a line request that found no translation
  load,        ///< a line request at its partition
  store,       ///< as load
  atomic,      ///< as load
  transfer,    ///< index: migration; its fault is handled, and there is room: it takes the link
  arrived,     ///< index: migration; all of it
};

/// A line: number (see AddressMap), partition, set in the partition's L2.
struct PlacedLine {
  std::uint64_t bits = 0;  // line: 0-31, partition: 32-39, set: 40-55

  static PlacedLine of(std::uint32_t line, std::uint32_t partition, std::uint32_t set) {
    return {line | std::uint64_t{partition} << 32U | std::uint64_t{set} << 40U};
  }
  std::uint32_t line() const { return static_cast<std::uint32_t>(bits); }
  std::uint32_t partition() const { return (bits >> 32U) & 0xFFU; }
  std::uint32_t set() const { return (bits >> 40U) & 0xFFFFU; }
};

/// What follows a translation.
enum class AfterTranslation : std::uint8_t { load, store, atomic, l1_hit };

inline constexpr std::uint32_t kNobody = 0xFFF;

/// A line request as an event's payload and carried bits.
struct LineRequest {
  EventKind kind = EventKind::load;
  std::uint32_t core = 0;
  std::uint32_t waiter = kNobody;  ///< the core's miss entry; of an L1 hit the core's warp
  PlacedLine place;
  std::uint32_t note = 0;  ///< translate: AfterTranslation; at the partition: 1 if the TLB missed

  std::uint64_t payload() const {
    return static_cast<std::uint64_t>(kind) << 60U | std::uint64_t{core} << 52U |
           std::uint64_t{waiter} << 40U | (place.bits & 0xFF'FFFF'FFFFU);
  }
  std::uint32_t carried() const { return note << 16U | place.set(); }

  static LineRequest of(const Event& event) {
    const std::uint64_t set = event.order & 0xFFFFU;
    return {static_cast<EventKind>(event.payload >> 60U),
            static_cast<std::uint32_t>(event.payload >> 52U) & 0xFFU,
            static_cast<std::uint32_t>(event.payload >> 40U) & 0xFFFU,
            {(event.payload & 0xFF'FFFF'FFFFU) | set << 40U},
            static_cast<std::uint32_t>(event.order >> 16U) & 3U};
  }
};

/// The event queue, spoken to in these terms.
class Schedule {
public:
  void at(Picoseconds time_ps, EventKind kind, std::uint32_t index) {
    queue_.push(time_ps, static_cast<std::uint64_t>(kind) << 60U | index);
  }
  void at(Picoseconds time_ps, const LineRequest& request) {
    queue_.push(time_ps, request.payload(), request.carried());
  }

  /// The next event, which is now.
  Event next() {
    const Event event = queue_.pop();
    now_ps_ = event.time_ps;
    ++num_events_;
    digest_ = (digest_ ^ (event.time_ps + event.payload)) * 0x9E3779B97F4A7C15ULL;
    digest_ ^= digest_ >> 32U;
    return event;
  }

  const Event* soon() const { return queue_.soon(); }
  bool empty() const { return queue_.empty(); }
  Picoseconds now_ps() const { return now_ps_; }
  std::uint64_t num_events() const { return num_events_; }
  std::uint64_t digest() const { return digest_; }

private:
  EventQueue queue_;
  Picoseconds now_ps_ = 0;
  std::uint64_t num_events_ = 0;
  std::uint64_t digest_ = 0;
};

}  // namespace isthmus::sim
