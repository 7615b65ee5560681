// The meaning of events, and the encoding of a line request in one.
#pragma once

#include <cstdint>

#include "sim/event_queue.hpp"

namespace isthmus::sim {

/// Widths are checked by check_machine: 256 cores, 256 partitions, 4095 misses, 65536 L2 sets.
enum class EventKind : std::uint8_t {
  warp_ready,  ///< index: warp; may issue its next instructions
  execute,     ///< index: warp; its instructions are complete, its memory operation begins
  resume,      ///< index: core; its load/store unit may continue
  translate,   ///< a line request without a translation
  load,        ///< a line request at its partition
  store,       ///< as load
  atomic,      ///< as load
  transfer,    ///< index: migration; its fault is handled, and there is room: it starts on the link
  arrived,     ///< index: migration; all of it has arrived
  faults,      ///< the driver may handle the next batch of faults
};

/// A line: its number (see AddressMap), its partition, and its set in the partition's L2.
struct PlacedLine {
  std::uint64_t bits = 0;  // line: 0-31, partition: 32-39, set: 40-55

  static PlacedLine of(std::uint32_t line, std::uint32_t partition, std::uint32_t set) {
    return {line | std::uint64_t{partition} << 32U | std::uint64_t{set} << 40U};
  }
  std::uint32_t line() const { return static_cast<std::uint32_t>(bits); }
  std::uint32_t partition() const { return (bits >> 32U) & 0xFFU; }
  std::uint32_t set() const { return (bits >> 40U) & 0xFFFFU; }
};

/// The step after a translation.
enum class AfterTranslation : std::uint8_t { load, store, atomic, l1_hit };

inline constexpr std::uint32_t kNobody = 0xFFF;

/// A line request as an event: the payload is its place.
struct LineRequest {
  EventKind kind = EventKind::load;
  std::uint32_t core = 0;
  std::uint32_t waiter = kNobody;  ///< the core's miss entry; for an L1 hit the core's warp
  PlacedLine place;
  std::uint32_t note = 0;  ///< translate: AfterTranslation; at the partition: 1 if the TLB missed

  std::uint32_t what() const {
    return static_cast<std::uint32_t>(kind) << 28U | core << 20U | waiter << 8U | note;
  }
  static LineRequest of(const Event& event) {
    return {static_cast<EventKind>(event.what >> 28U),
            event.what >> 20U & 0xFFU,
            event.what >> 8U & 0xFFFU,
            {event.payload},
            event.what & 0xFFU};
  }
};

/// The event queue, with these events.
class Schedule {
public:
  void at(Picoseconds time_ps, EventKind kind, std::uint32_t index) {
    queue_.push({time_ps, index, static_cast<std::uint32_t>(kind) << 28U});
  }
  void at(Picoseconds time_ps, const LineRequest& request) {
    queue_.push({time_ps, request.place.bits, request.what()});
  }

  /// The next event; its time becomes the present.
  Event next() {
    const Event event = queue_.pop();
    now_ps_ = event.time_ps;
    ++num_events_;
    // A line's set follows from its number, so it isn't included.
    const std::uint64_t number =
        std::uint64_t{event.what >> 8U} << 40U | (event.payload & 0xFF'FFFF'FFFFU);
    digest_ = (digest_ ^ (event.time_ps + number)) * 0x9E3779B97F4A7C15ULL;
    digest_ ^= digest_ >> 32U;
    return event;
  }

  static EventKind kind(const Event& event) { return static_cast<EventKind>(event.what >> 28U); }
  static std::uint32_t index(const Event& event) {
    return static_cast<std::uint32_t>(event.payload);
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
