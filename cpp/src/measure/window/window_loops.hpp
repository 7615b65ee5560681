// What is measured of windows: their life, writes and reads, bandwidth of one or several threads,
// and round trips.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <vector>

#include <isthmus/window.hpp>

#include "device/context.hpp"
#include "device/kernels.hpp"
#include "measure/loops/sampling.hpp"
#include "measure/window/window_buffers.hpp"

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

struct WindowBandwidthOptions {
  Direction direction = Direction::host_to_device;
  std::size_t size_bytes = 0;
  WindowPlace place;
  /// Where the threads run meanwhile; empty: on the calling thread's CPUs.
  std::vector<int> cpus;
  Stopping stopping;
};

/// Measures N copies of one size back to back. Yields one metric, "copy_time": seconds for one
/// copy.
///
/// Opens windows of its own: a window's helper threads start with it, and inherit the CPU binding
/// of the thread that opened it. CPU caches are warm: the bytes are always the same.
///
/// Throws    UsageError (size, NUMA node), Unavailable (no window; the kernel refuses to bind to
///           the CPUs), CorruptTransfer, DriverError.
Measurement measure_window_bandwidth(const Context& context, const WindowBandwidthOptions& options);

/// The location of a flag or data. The CPU accesses the device's memory through a window.
enum class Residence { device, pinned };
constexpr auto words_of(Residence) { return std::array{"device", "pinned"}; }

struct PingPongOptions {
  Residence question = Residence::device;  ///< the flag that the CPU sets
  Residence answer = Residence::pinned;    ///< the flag that the kernel sets
  /// The location of data that accompany both flags; empty: no data.
  std::optional<Residence> data;
  std::size_t data_bytes = 0;  ///< a multiple of 4; only with data
  Stopping stopping;
  std::chrono::duration<double> answer_timeout{5.0};
};

/// Measures the time of a round trip, from the CPU's first store to its last load. Yields one
/// metric, "round_trip", in seconds by the CPU's clock.
///
/// With data, in each round the CPU writes them, then its flag; the kernel reads both, writes
/// different data of the same length, then its flag; the CPU reads both. Every answer is verified.
///
/// kernels   null: Unavailable
/// Throws    UsageError (size), Unavailable (no window, no kernels), CorruptTransfer, TimedOut (the
///           kernel never answered), DriverError.
Measurement measure_window_ping_pong(const Context& context, Windows& windows,
                                     const Kernels* kernels, const PingPongOptions& options);

}  // namespace isthmus::measure
