// How many repetitions one sample averages.
#pragma once

#include <algorithm>
#include <cstddef>

namespace isthmus::measure {

/// The duration of a sample, and the limits of its repetitions.
struct SampleSize {
  double seconds = 2e-3;  ///< much longer than the 0.5 us resolution of events
  /// Far fewer than the ~1000 operations that a held stream can queue.
  std::size_t max_repetitions = 128;
  std::size_t min_repetitions = 1;

  /// The repetitions of a sample if one takes `one_seconds`.
  std::size_t repetitions_of(double one_seconds) const {
    const double wanted = seconds / std::max(one_seconds, 1e-9);
    return static_cast<std::size_t>(std::clamp(wanted, static_cast<double>(min_repetitions),
                                               static_cast<double>(max_repetitions)));
  }
};

/// Determines by trial how many repetitions make a sample.
///
/// first_call_seconds   of one repetition
/// run                  runs the given number of repetitions; returns the seconds of one
template <typename Run>
std::size_t calibrate(const SampleSize& size, double first_call_seconds, Run run) {
  // A copy that is long enough for a sample isn't repeated: it may be gigabytes.
  const std::size_t num_tried = std::min(std::size_t{4}, size.repetitions_of(first_call_seconds));
  run(num_tried);  // discarded: it includes lazy loading
  return size.repetitions_of(run(num_tried));
}

}  // namespace isthmus::measure
