#include "host/memory/recent_mappings.hpp"

#include <ctime>

namespace isthmus::host {
namespace {

constexpr Tick kNsPerSecond = 1'000'000'000;

}  // namespace

Tick this_tick() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return Tick{now.tv_sec} * kNsPerSecond + now.tv_nsec;
}

void RecentMappings::remember(const Mapping& mapping, Tick now) noexcept {
  if (now != tick_) forget();
  tick_ = now;
  entries_[next_] = {mapping.begin, mapping.end, mapping.is_ordinary()};
  next_ = (next_ + 1) % kMaxEntries;
}

void RecentMappings::forget() noexcept { *this = RecentMappings{}; }

}  // namespace isthmus::host
