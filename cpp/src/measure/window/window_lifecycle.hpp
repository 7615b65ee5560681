// What a window costs before and after it is used.
#pragma once

#include "device/context.hpp"
#include "measure/loops/samples.hpp"

namespace isthmus::measure {

struct WindowLifecycleOptions {
  std::size_t size_bytes = 0;  ///< of the buffer and of its window; at least 4
  Stopping stopping;
};

/// Measures the life of windows, each on a buffer that was just allocated. Yields these metrics, in
/// seconds by the CPU clock for one call:
///
///   open_new      the first window on a buffer: it is mapped, and compared with the device's bytes
///   pin, map      the backend's steps in that: see WindowCosts
///   first_store   4 bytes written through it, with the fence, before anything else touches it
///   first_load    4 bytes read from its end, which nothing has touched
///   open_cached   another window on the same buffer, which shares the mapping
///   close         the last window on the buffer: it is unmapped
///   unmap, unpin  the backend's steps in that. A step that it doesn't take is waived.
///   memcpy_4_bytes  cudaMemcpy of 4 bytes to the same buffer from ordinary memory, until complete:
///                   to compare with
///
/// first_call_seconds is the first window of a Windows of its own: the backends are tried and the
/// one taken is tested.
///
/// Throws      UsageError (size), Unavailable (no window), CorruptTransfer, DriverError.
Measurement measure_window_lifecycle(const Context& context, const WindowLifecycleOptions& options);

}  // namespace isthmus::measure
