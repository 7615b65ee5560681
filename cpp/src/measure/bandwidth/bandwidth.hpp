// Bandwidth of a copy: bytes over the time the link is busy, not over the time the CPU takes to
// ask.
#pragma once

#include <chrono>

#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/samples.hpp"
#include "measure/loops/sm_copy.hpp"

namespace isthmus::measure {

struct BandwidthOptions {
  Direction direction = Direction::host_to_device;
  std::size_t size_bytes = 0;
  /// True: several copies behind a gate, between two events, by the device's clock. For pinned
  /// memory only: what synchronises inside would never end behind a gate. False: one blocking copy
  /// at a time, waited for, by the CPU's clock.
  bool blocked = true;
  Stopping stopping;
  std::chrono::duration<double> gate_timeout{15.0};
  Engine by = Engine::copy_engine;  ///< the multiprocessors copy behind a gate only
};

/// Measures one size in one direction. Yields one metric, "copy_time": seconds for one copy.
///
/// In order: source filled, one copy timed by the CPU clock (first_call_seconds), target poisoned,
/// the samples, target verified. CPU caches are warm: the same buffer every time.
///
/// kernels   null: prepared and verified from the host
/// Throws    UsageError (size, blocked with pageable memory), Unavailable (no gate on this device,
///           no kernel to copy by), CorruptTransfer, TimedOut, DriverError.
Measurement measure_bandwidth(CopyBuffers& buffers, const Kernels* kernels,
                              const BandwidthOptions& options);

/// Copies back and forth in one direction for `seconds`, to have the link awake while it is looked
/// at.
void run_copy_load(CopyBuffers& buffers, Direction direction,
                   std::chrono::duration<double> seconds);

}  // namespace isthmus::measure
