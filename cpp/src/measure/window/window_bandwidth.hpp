// Bytes a second through a window, by one or several threads, near the device or far from it.
#pragma once

#include <vector>

#include "measure/loops/samples.hpp"
#include "measure/window/window_buffers.hpp"

namespace isthmus::measure {

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

}  // namespace isthmus::measure
