// What a measurement yields: samples in seconds, and why it stopped or failed; the stopping rule,
// and how many repetitions one sample averages. No statistics, no formats.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace isthmus::measure {

/// The bytes that arrived aren't the bytes that were sent. All figures of this measurement are
/// void.
class CorruptTransfer : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Something took longer than its timeout: a held stream, or an answer from a running kernel. The
/// stream was released; what was being measured is void.
class TimedOut : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// When to stop sampling: at low noise, after a time, or after a number. Never before
/// `min_samples`.
struct Stopping {
  std::size_t min_samples = 5;
  std::size_t max_samples = 1000;
  double max_seconds = 0.5;    ///< wall time for sampling one metric, without preparation
  double relative_iqr = 0.01;  ///< stop when (Q3 - Q1) / median is at or below this
  bool verify = true;          ///< compare the bytes that arrived; false only if a user said so
};

enum class StoppedBy { noise, time, max_samples };
constexpr auto words_of(StoppedBy) { return std::array{"noise", "time", "max_samples"}; }
enum class Direction { host_to_device, device_to_host };
constexpr auto words_of(Direction) { return std::array{"h2d", "d2h"}; }
enum class VerifiedOn { device, host, nobody };
constexpr auto words_of(VerifiedOn) { return std::array{"device", "host", "nobody"}; }

/// Samples of one quantity.
struct Samples {
  std::string metric;           ///< see bandwidth.hpp and latency.hpp for the names
  std::vector<double> seconds;  ///< for one copy, in the order taken
  std::size_t copies_per_sample = 1;
  StoppedBy stopped_by = StoppedBy::max_samples;
};

struct Measurement {
  std::vector<Samples> samples;
  double first_call_seconds = 0;  ///< of this size, by the CPU's clock, including the wait
  VerifiedOn verified_on = VerifiedOn::host;
  std::map<std::string, std::string> waived;  ///< metric -> why it can't be measured here
  /// The host's pages, if the loop allocated them and looked: NUMA node -> sampled pages.
  std::map<int, std::size_t> host_pages_by_node;
  std::map<int, std::size_t> source_pages_by_node;  ///< of a copy within the host: those read
};

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
