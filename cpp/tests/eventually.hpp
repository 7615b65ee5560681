// Waits for other threads.
#pragma once

#include <chrono>
#include <thread>

namespace isthmus::test {

/// Waits for another thread or a kernel; false if it takes longer than any test should. Asks all
/// the time at first, then every tenth of a millisecond: others need the core.
template <typename Condition>
bool eventually(Condition holds) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  while (!holds()) {
    const auto waited = Clock::now() - begin;
    if (waited > std::chrono::seconds(20)) return false;
    if (waited < std::chrono::milliseconds(1)) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  return true;
}

}  // namespace isthmus::test
