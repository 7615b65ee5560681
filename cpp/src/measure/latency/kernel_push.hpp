// An alternative to reading through a window: a kernel that stores into host memory.
#pragma once

#include <chrono>

#include <isthmus/window.hpp>

#include "device/kernels.hpp"
#include "measure/loops/samples.hpp"

namespace isthmus::measure {

struct KernelPushOptions {
  std::size_t size_bytes = 0;
  Stopping stopping;  ///< for each metric separately
  std::chrono::duration<double> answer_timeout{5.0};
};

/// Measures how long it takes to bring device bytes into pinned host memory by a kernel's stores.
/// Yields these metrics, in seconds by the CPU's clock, until the CPU sees the flag that follows
/// the bytes:
///
///   launched   from the launch of the kernel
///   asked      from a store through a window, which a kernel that already runs polls
///
/// "asked" is waived without windows. The target is poisoned before and compared after each set of
/// samples.
///
/// kernels   null: Unavailable
/// Throws    UsageError (size), Unavailable, CorruptTransfer, TimedOut (the flag never came),
///           DriverError.
Measurement measure_kernel_push(const Context& context, Windows& windows, const Kernels* kernels,
                                const KernelPushOptions& options);

}  // namespace isthmus::measure
