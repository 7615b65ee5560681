// The emulator's time is the CPU's monotonic clock: modelled durations take real time.
#pragma once

#include <chrono>

namespace isthmus::emulator {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Duration = std::chrono::nanoseconds;

inline constexpr Duration kNoTime{0};

/// How long a thread spins before it sleeps, and for how long before a deadline it spins instead of
/// sleeping. Waking a sleeping thread takes up to this long on a virtual machine (timer slack alone
/// is 50 us).
inline constexpr Duration kSpin = std::chrono::microseconds(60);

/// One iteration of a short spin loop.
void spin_once();

/// Sleeps until `kSpin` before `deadline`, then spins.
void wait_until(Time deadline);

/// Spins until `done()` is true or `limit` has passed; returns whether it was done.
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
