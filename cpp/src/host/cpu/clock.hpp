// The CPU clock for all host-side measurements, and the cost of reading it.
#pragma once

#include <cstdint>

namespace isthmus::host {

/// Nanoseconds of CLOCK_MONOTONIC, from an arbitrary start; never goes backwards.
std::int64_t steady_ns() noexcept;

/// A count that grows evenly with time: the CPU's time-stamp counter, or steady_ns() where none is
/// known. Takes less than half as long as steady_ns(). Differs a little between cores on some
/// machines.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(steady_ns());
#endif
}
/// How many ticks a nanosecond has. Measured by the first call, for 25 us.
double ticks_per_ns();

/// The cost of one steady_ns() call in nanoseconds, measured now.
///
/// The smallest of several means, because other work on the CPU only adds to it. Reads the clock
/// 8000 times: well under a millisecond, unless each read is a system call.
double timer_overhead_ns();

}  // namespace isthmus::host
