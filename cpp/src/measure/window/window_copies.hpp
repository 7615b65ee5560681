// The cost of one write, post or read through a window, and of the same bytes by cudaMemcpy.
#pragma once

#include "measure/loops/samples.hpp"
#include "measure/window/window_buffers.hpp"

namespace isthmus::measure {

struct WindowCopyOptions {
  std::size_t size_bytes = 0;
  /// True: the host's bytes are evicted from the CPU's caches before each copy. False: they stay
  /// where the previous copy left them.
  bool cold = false;
  WindowPlace place;
  Stopping stopping;  ///< for each metric separately
};

/// Measures writes of one size. Yields these metrics, each in seconds for one copy:
///
///   fenced           N times write() back to back, over N. No single call is timed: sfence orders
///                    only later stores, so the clock would be read while the bytes still leave.
///   posted           post() to one cache line after the other, N lines over N, without the final
///                    fence. One thread, warm caches.
///   memcpy_pinned    cudaMemcpy of the same bytes from pinned memory, from call to completion
///   memcpy_pageable  from ordinary memory; these two with one thread only
///
/// Each set of samples goes to a poisoned device and is compared with a copy by the driver.
///
/// windows   on the context's driver
/// Throws    UsageError (size), Unavailable (no window; cold where programs can't evict),
///           CorruptTransfer, DriverError.
Measurement measure_window_write(const Context& context, Windows& windows,
                                 const WindowCopyOptions& options);

/// Measures reads of one size, in the same way:
///
///   complete         N times read() back to back, over N: each is complete when it returns
///   memcpy_pinned    cudaMemcpy of the same bytes to pinned memory, from call to completion
///   memcpy_pageable  to ordinary memory; these two with one thread only
Measurement measure_window_read(const Context& context, Windows& windows,
                                const WindowCopyOptions& options);

}  // namespace isthmus::measure
