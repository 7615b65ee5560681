#include "host/cpu/backoff.hpp"

#include <thread>

namespace isthmus::host {

void Backoff::pause() noexcept {
  if (++num_pauses_ < limits_.num_pauses) return pause_briefly();
  const auto now = std::chrono::steady_clock::now();
  if (num_pauses_ == limits_.num_pauses) yields_until_ = now + limits_.yield_time;
  if (now < yields_until_) return std::this_thread::yield();
  std::this_thread::sleep_for(limits_.sleep_time);
}

}  // namespace isthmus::host
