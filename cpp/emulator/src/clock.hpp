// The emulator's time is the CPU's monotonic clock: modelled durations really pass.
#pragma once

#include <chrono>

namespace isthmus::emulator {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Duration = std::chrono::nanoseconds;

inline constexpr Duration kNoTime{0};

/// How long a thread spins before it sleeps, and how much of a wait it spins rather than sleeps.
/// Waking a sleeping thread takes up to this long on a virtual machine (timer slack alone is 50
/// us).
inline constexpr Duration kSpin = std::chrono::microseconds(60);

/// One turn of a short waiting loop.
void spin_once();

/// Sleeps until `kSpin` before `deadline` and spins for the rest.
void wait_until(Time deadline);

/// Spins until `done()` or until `limit` has passed; returns whether it was done.
template <typename Condition>
bool spin_until(Condition done, Duration limit) {
  const Time give_up = Clock::now() + limit;
  while (!done()) {
    if (Clock::now() >= give_up) return false;
    spin_once();
  }
  return true;
}

}  // namespace isthmus::emulator
