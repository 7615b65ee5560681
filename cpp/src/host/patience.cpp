#include "host/patience.hpp"

#include <thread>

namespace isthmus::host {
namespace {

// Twice an H100's link latency for a whole slot: late by 5 % of what was waited for at most.
constexpr std::chrono::microseconds kSleepTime{100};

}  // namespace

void Patience::pause() noexcept {
  if (++num_pauses_ < limits_.num_pauses) return pause_briefly();
  const auto now = std::chrono::steady_clock::now();
  if (num_pauses_ == limits_.num_pauses) yields_until_ = now + limits_.yield_time;
  if (now < yields_until_) return std::this_thread::yield();
  std::this_thread::sleep_for(kSleepTime);
}

}  // namespace isthmus::host
