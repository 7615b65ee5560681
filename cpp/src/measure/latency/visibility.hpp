// When does the other side see what a copy brought? Flags, polled by a running kernel or by the
// CPU.
#pragma once

#include "measure/latency/latency.hpp"

namespace isthmus::measure {

/// Adds the metric "visible" to `measurement`, or the reason why it is waived. The caller holds a
/// CurrentContext.
///
/// copy     of the options, called before: what it needs is loaded
/// Leaves the buffers without the pattern; the next prepare() restores it.
/// Throws   TimedOut if a kernel's answer never came; then the kernel has ended too.
void measure_visibility(CopyBuffers& buffers, const Kernels* kernels, SmallCopy& copy,
                        const LatencyOptions& options, Measurement& measurement);

}  // namespace isthmus::measure
