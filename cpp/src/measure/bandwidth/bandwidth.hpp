// Bandwidth of a copy: bytes over the time the link is busy, without the CPU's time to enqueue it.
#pragma once

#include <chrono>

#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/samples.hpp"
#include "measure/loops/sm_copy.hpp"

namespace isthmus::measure {

struct BandwidthOptions {
  Direction direction = Direction::host_to_device;
  std::size_t size_bytes = 0;
  /// True: several copies behind a gate, timed between two events by the device's clock. Pinned
  /// memory only: a call that synchronises would deadlock behind a gate. False: one blocking copy
  /// at a time, complete before the next, by the CPU's clock.
  bool blocked = true;
  Stopping stopping;
  std::chrono::duration<double> gate_timeout{15.0};
  Engine by = Engine::copy_engine;  ///< multiprocessors copy only behind a gate
};

/// Measures one size in one direction. Yields one metric, "copy_time": seconds for one copy.
///
/// In this order: fill the source, time one copy by the CPU's clock (first_call_seconds), poison
/// the target, take the samples, verify the target. The CPU caches are warm: every copy uses the
/// same buffer.
///
/// kernels   null: prepared and verified from the host
/// Throws    UsageError (size; blocked with pageable memory), Unavailable (no gate on this device,
///           no kernel to copy with), CorruptTransfer, TimedOut, DriverError.
Measurement measure_bandwidth(CopyBuffers& buffers, const Kernels* kernels,
                              const BandwidthOptions& options);

/// Copies repeatedly in one direction for `seconds`, to keep the link out of its idle state while
/// its speed is read.
void run_copy_load(CopyBuffers& buffers, Direction direction,
                   std::chrono::duration<double> seconds);

}  // namespace isthmus::measure
