// What a measurement yields: samples in seconds, and why it stopped. No statistics, no formats.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace isthmus::measure {

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

}  // namespace isthmus::measure
