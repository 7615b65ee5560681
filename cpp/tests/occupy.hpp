// Lets time pass without sleeping.
#pragma once

#include <chrono>

namespace isthmus::test {

/// Occupies this thread for so long: a sleeping one would take longer, by as much as the machine likes.
inline void occupy(std::chrono::nanoseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace isthmus::test
