// The stopping rule for every loop.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "measure/loops/samples.hpp"

namespace isthmus::measure {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC on Linux

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Collects samples until the rule says stop.
class Sampling {
public:
  /// Throws   UsageError for an impossible rule: no samples, a negative time or noise.
  explicit Sampling(const Stopping& rule);

  /// True while another sample should be taken. Checks the noise only now and then.
  bool wants_more();
  void add(double seconds) { seconds_.push_back(seconds); }
  Samples finish(std::string metric, std::size_t copies_per_sample) &&;

private:
  bool quiet() const;

  Stopping rule_;
  Clock::time_point start_ = Clock::now();
  std::vector<double> seconds_;
  std::size_t next_look_;
  StoppedBy stopped_by_ = StoppedBy::max_samples;
};

/// Samples `one()`, which returns the seconds of one copy, until the rule says stop.
template <typename OneSample>
Samples sample(const Stopping& rule, std::string metric, std::size_t copies_per_sample,
               OneSample one) {
  Sampling sampling(rule);
  while (sampling.wants_more()) sampling.add(one());
  return std::move(sampling).finish(std::move(metric), copies_per_sample);
}

}  // namespace isthmus::measure
