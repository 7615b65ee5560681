// The CPU clock for all host-side measurements, and the cost of reading it.
#pragma once

#include <cstdint>

namespace isthmus::host {

/// Nanoseconds of CLOCK_MONOTONIC, from an arbitrary start; never goes backwards.
std::int64_t steady_ns() noexcept;

/// The cost of one steady_ns() call in nanoseconds, measured now.
///
/// The smallest of several means, because other work on the CPU only adds to it. Reads the clock
/// 8000 times: well under a millisecond, unless each read is a system call.
double timer_overhead_ns();

}  // namespace isthmus::host
