// How many repetitions one sample averages.
#pragma once

#include <algorithm>
#include <cstddef>

namespace isthmus::measure {

/// How long a sample is, and how many repetitions it may have.
struct SampleSize {
  double seconds = 2e-3;  ///< long against the 0.5 us resolution of events
  /// Well under the ~1000 operations that a stream queues while it is held.
  std::size_t max_repetitions = 128;
  std::size_t min_repetitions = 1;

  /// How many repetitions a sample has if one takes so long.
  std::size_t repetitions_of(double one_seconds) const {
    const double wanted = seconds / std::max(one_seconds, 1e-9);
    return static_cast<std::size_t>(std::clamp(wanted, static_cast<double>(min_repetitions),
                                               static_cast<double>(max_repetitions)));
  }
};

/// Tries out how many repetitions make a sample.
///
/// first_call_seconds   of one repetition
/// run                  runs so many repetitions; returns the seconds of one
template <typename Run>
std::size_t calibrate(const SampleSize& size, double first_call_seconds, Run run) {
  // What fills a sample by itself is not repeated: there may be gigabytes to wait for.
  const std::size_t num_tried = std::min(std::size_t{4}, size.repetitions_of(first_call_seconds));
  run(num_tried);  // voided: it pays for lazy loading
  return size.repetitions_of(run(num_tried));
}

}  // namespace isthmus::measure
