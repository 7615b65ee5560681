// The emulator's time is the CPU's monotonic clock: modelled durations take real time.
#pragma once

#include <chrono>
#include <thread>

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
inline void spin_once() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
  // With one core, the awaited thread needs it. With more, yielding a core can cost a whole time
  // slice (4 ms) on a busy machine, far longer than any spin here.
  static const bool single_core = std::thread::hardware_concurrency() <= 1;
  if (single_core) std::this_thread::yield();
}

/// Sleeps until `kSpin` before `deadline`, then spins.
inline void wait_until(Time deadline) {
  if (deadline - Clock::now() > kSpin) std::this_thread::sleep_until(deadline - kSpin);
  while (Clock::now() < deadline) spin_once();
}

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
