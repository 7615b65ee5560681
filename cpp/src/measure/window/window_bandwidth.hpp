// Bytes a second through a window, by one thread or several, near the device or far from it.
#pragma once

#include <vector>

#include "measure/loops/samples.hpp"
#include "measure/window/window_buffers.hpp"

namespace isthmus::measure {

struct WindowBandwidthOptions {
  Direction direction = Direction::host_to_device;
  std::size_t size_bytes = 0;
  WindowPlace place;
  /// Where the threads run meanwhile; empty: where the calling thread does.
  std::vector<int> cpus;
  Stopping stopping;
};

/// Measures N copies of one size back to back. Yields one metric, "copy_time": seconds for one
/// copy.
///
/// Opens windows of its own: threads that help a window are started with it, and stay on the CPUs
/// that the thread who opened it was bound to. CPU caches are warm: the same bytes every time.
/// Throws    UsageError (size, NUMA node), Unavailable (no window; the kernel won't bind to the
/// CPUs),
///           CorruptTransfer, DriverError.
Measurement measure_window_bandwidth(const Context& context, const WindowBandwidthOptions& options);

}  // namespace isthmus::measure
