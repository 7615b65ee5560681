// One direction of a device's link. Copy engines, kernels and the CPU share it.
// The modelled link: the duration of transfers, and copies that take that long.
#pragma once

#include <atomic>
#include <cstddef>

#include "machine/clock.hpp"

namespace isthmus::emulator {

/// Bytes that cross one after the other, at the profile's rate. May be used from any thread.
class SharedLink {
public:
  /// Sends bytes that are ready at `start`.
  ///
  /// Returns   when they have arrived: after all that was sent before, unless they are so few that
  ///           a real link would pass them between the packets of others
  Time cross(std::size_t size_bytes, Time start);

private:
  std::atomic<Time> free_at_{Time{}};  ///< when all that was sent has arrived
};

/// The speed of a transfer: first the latency, then the bytes.
struct Pace {
  Duration latency{kNoTime};
  double bytes_per_s = 0;
  /// What the bytes cross, at this pace at most; null for copies inside the device.
  SharedLink* link = nullptr;

  /// The same pace on a link.
  Pace across(SharedLink& shared) const { return {latency, bytes_per_s, &shared}; }
  /// Without the latency.
  Duration time_for(std::size_t size_bytes) const;
};

/// Moves bytes at a pace, in real time.
///
/// start     when the transfer begins on the modelled timeline; may be slightly in the past
/// Returns   when it ended: start + latency + the longer of the modelled time for the bytes and the
///           CPU's real time to move them. On a link that others use meanwhile the modelled time is
///           longer.
Time move_bytes(std::byte* target, const std::byte* source, std::size_t size_bytes,
                const Pace& pace, Time start);

/// Writes `pattern_bytes` of `pattern` (1 or 4 of its low bytes) repeatedly; otherwise like
/// move_bytes.
Time fill_bytes(std::byte* target, unsigned pattern, std::size_t pattern_bytes,
                std::size_t size_bytes, const Pace& pace, Time start);

/// Copies now, as fast as this CPU can. Small copies arrive in order, word by word, since a thread
/// may poll them.
void copy_now(std::byte* target, const std::byte* source, std::size_t size_bytes);

}  // namespace isthmus::emulator
