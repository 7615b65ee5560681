// The CPU clock every host-side measurement is read from, and what reading it costs.
#pragma once

#include <cstdint>

namespace isthmus::host {

/// Nanoseconds on CLOCK_MONOTONIC: never set back, since an arbitrary start.
std::int64_t steady_ns() noexcept;

/// The cost of one steady_ns() call in nanoseconds, measured now.
///
/// The smallest of several means, since anything else on the CPU only adds to it. Reads the clock
/// 8000 times: well under a millisecond, unless the clock source makes each read a system call.
double timer_overhead_ns();

}  // namespace isthmus::host
