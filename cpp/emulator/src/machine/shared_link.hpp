// One direction of a device's link. Copy engines, kernels and the CPU share it.
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

}  // namespace isthmus::emulator
