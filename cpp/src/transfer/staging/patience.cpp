#include "transfer/staging/patience.hpp"

#include <thread>

#include "window/copy_worker.hpp"

namespace isthmus::transfer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPausesBeforeYield = 256;
// When the link is what limits a copy, a thread may wait until all slots have crossed: 4 x 16 MiB
// take 1.2 ms at 55 GB/s, and as much again while another ring uses the link.
constexpr std::chrono::milliseconds kSpinTime{5};
// Twice an H100's link latency for a whole slot: late by 5 % of what was waited for at most.
constexpr std::chrono::microseconds kSleepTime{100};

}  // namespace

void Patience::pause() noexcept {
  if (++num_pauses_ < kPausesBeforeYield) return window::pause_briefly();
  const auto now = Clock::now();
  if (num_pauses_ == kPausesBeforeYield) spins_until_ = now + kSpinTime;
  if (now < spins_until_) return std::this_thread::yield();
  std::this_thread::sleep_for(kSleepTime);
}

}  // namespace isthmus::transfer
