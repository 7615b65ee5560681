#include "host/cpu/clock.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <ctime>

namespace isthmus::host {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr int kRounds = 8;
constexpr int kCallsPerRound = 1000;
constexpr std::int64_t kTicksMeasuredNs = 5'000;
constexpr std::size_t kTicksMeasured = 5;

double one_ticks_per_ns() {
  const std::int64_t start_ns = steady_ns();
  const std::uint64_t start = ticks();
  std::int64_t now_ns = start_ns;
  while (now_ns - start_ns < kTicksMeasuredNs) now_ns = steady_ns();
  return static_cast<double>(ticks() - start) / static_cast<double>(now_ns - start_ns);
}

/// The median, since the thread may lose its core between the two clocks.
double measured_ticks_per_ns() {
  std::array<double, kTicksMeasured> found{};
  std::generate(found.begin(), found.end(), one_ticks_per_ns);
  std::sort(found.begin(), found.end());
  return found[kTicksMeasured / 2];
}

}  // namespace

[[gnu::hot]] std::int64_t steady_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * kNsPerSecond + now.tv_nsec;
}

double ticks_per_ns() {
  static const double measured = measured_ticks_per_ns();
  return measured;
}

double timer_overhead_ns() {
  double smallest = std::numeric_limits<double>::max();
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t start = steady_ns();
    std::int64_t end = start;
    for (int call = 0; call < kCallsPerRound; ++call) end = steady_ns();
    smallest = std::min(smallest, static_cast<double>(end - start) / kCallsPerRound);
  }
  return smallest;
}

}  // namespace isthmus::host
