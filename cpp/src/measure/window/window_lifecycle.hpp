// The cost of a window before and after its use.
#pragma once

#include "device/context.hpp"
#include "measure/loops/samples.hpp"

namespace isthmus::measure {

struct WindowLifecycleOptions {
  std::size_t size_bytes = 0;  ///< of the buffer and of its window; at least 4
  Stopping stopping;
};

/// Measures the life of windows, each on a newly allocated buffer. Yields these metrics, in seconds
/// by the CPU's clock for one call:
///
///   open_new      the first window on a buffer: it is mapped, and compared with the device's bytes
///   pin, map      the backend's steps of that: see WindowCosts
///   first_store   4 bytes written through it, with the fence, before any other access
///   first_load    4 bytes read from its end, which nothing has touched
///   open_cached   another window on the same buffer, which shares the mapping
///   close         the last window on the buffer: it is unmapped
///   unmap, unpin  the backend's steps of that. A step that it doesn't have is waived.
///   memcpy_4_bytes  cudaMemcpy of 4 bytes to the same buffer from ordinary memory, until complete,
///                   for comparison
///
/// first_call_seconds is the first window of a new Windows: it tries the backends and tests the
/// chosen one.
///
/// Throws      UsageError (size), Unavailable (no window), CorruptTransfer, DriverError.
Measurement measure_window_lifecycle(const Context& context, const WindowLifecycleOptions& options);

}  // namespace isthmus::measure
