#include "host/cpu/clock.hpp"

#include <algorithm>
#include <limits>

#include <ctime>

namespace isthmus::host {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr int kRounds = 8;
constexpr int kCallsPerRound = 1000;
}  // namespace

std::int64_t steady_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * kNsPerSecond + now.tv_nsec;
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
