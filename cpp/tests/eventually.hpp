// Waits for other threads.
#pragma once

#include <chrono>
#include <thread>

namespace isthmus::test {

/// Waits for another thread or a kernel; false if it takes longer than any test should.
template <typename Condition>
bool eventually(Condition holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace isthmus::test
