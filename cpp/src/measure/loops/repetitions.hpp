// How many copies one sample averages.
#pragma once

#include <algorithm>
#include <cstddef>

namespace isthmus::measure {

/// Long against the 0.5 us resolution of events.
inline constexpr double kSampleSeconds = 2e-3;
/// Well under the ~1000 operations that a stream queues while it is held.
inline constexpr std::size_t kMaxRepetitions = 128;
/// As nvbandwidth: fetches the engine's descriptors and TLB.
inline constexpr std::size_t kWarmUpRepetitions = 4;

/// So many repetitions of something that takes so long.
inline std::size_t repetitions_for(double one_seconds) {
  const double wanted = kSampleSeconds / std::max(one_seconds, 1e-9);
  return static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(kMaxRepetitions)));
}

}  // namespace isthmus::measure
