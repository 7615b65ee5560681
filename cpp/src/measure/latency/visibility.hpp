// When does the other side see the bytes of a copy? A running kernel or the CPU polls a flag in
// them.
#pragma once

#include "measure/latency/latency.hpp"

namespace isthmus::measure {

/// Adds the metric "visible" to `measurement`, or the reason why it is waived. The caller holds a
/// CurrentContext.
///
/// copy     made from the options, and called before, so that everything it needs is loaded
/// Afterwards the buffers don't hold the pattern; the next prepare() restores it.
/// Throws   TimedOut if a kernel's answer never came; then the kernel has ended too.
void measure_visibility(CopyBuffers& buffers, const Kernels* kernels, SmallCopy& copy,
                        const LatencyOptions& options, Measurement& measurement);

}  // namespace isthmus::measure
