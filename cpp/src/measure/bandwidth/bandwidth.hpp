// Bandwidth of a copy: bytes over the time the link is busy, without the CPU's time to enqueue it.
// In one direction, from one NUMA node, by several streams, or in both directions at once.
#pragma once

#include <chrono>
#include <map>
#include <vector>

#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/sampling.hpp"
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

/// Where a measurement's thread and host memory is to be.
struct NodePlace {
  int node = 0;
  std::vector<int> cpus;  ///< the node's CPUs that this process may use
};

struct NodeCopyOptions {
  NodePlace place;
  std::size_t num_nodes = 1;  ///< of the host; with 1, the memory's node isn't checked
  HostMemory memory = HostMemory::pinned;
  BandwidthOptions copy;
};

/// Runs measure_bandwidth on the node's CPUs with host memory on that node, and only if both are
/// possible. Restores the thread's CPUs. The pages' nodes are in the measurement.
///
/// Throws      UsageError (no such node); Unavailable if none of its CPUs may be used, or memory is
///             elsewhere, or its node is unknown; what measure_bandwidth throws.
Measurement measure_node_bandwidth(const Context& context, const Kernels* kernels,
                                   const NodeCopyOptions& options);

/// Checks that memory is on a node.
///
/// pages_by_node   from host::pages_by_node
/// Throws          Unavailable if more than one page in twenty is elsewhere, or nothing is known
///                 and there are several nodes.
void require_pages_on(int node, const std::map<int, std::size_t>& pages_by_node,
                      std::size_t num_nodes);

struct DuplexOptions {
  std::size_t size_bytes = 0;
  Stopping stopping;
  std::chrono::duration<double> gate_timeout{15.0};
  Engine by = Engine::copy_engine;  ///< what moves the bytes, in both directions
};

/// Measures copies in one direction while copies of the same size go the other way, and last longer
/// than the timed copies. Yields one metric, "copy_time": seconds for one copy.
///
/// Like nvbandwidth's bidirectional tests, whose load is also twice as long. A sample during which
/// the other direction became idle is discarded.
///
/// buffers    pinned; for the timed copies
/// load       pinned; other buffers, for the copies in the other direction
/// kernels    null: prepared and verified from the host
/// Throws     UsageError (size, pageable memory), Unavailable (no gate on this device, no kernel to
///            copy by, or the other direction can't be kept busy), CorruptTransfer, TimedOut,
///            DriverError.
Measurement measure_under_load(CopyBuffers& buffers, CopyBuffers& load, const Kernels* kernels,
                               Direction direction, const DuplexOptions& options);

/// Measures equal numbers of copies in both directions, from a common start. Yields these metrics,
/// in seconds for one copy of `size_bytes`:
///
///   duplex_total   copies of both directions over the common time: from the start until the last
///                  copy of the slower direction is complete
///   duplex_h2d     uploads over their own time, from the same start
///   duplex_d2h     downloads over their own time, from the same start
///
/// up, down   pinned, different buffers: for uploads, and for downloads
/// Throws     what measure_under_load throws.
Measurement measure_duplex(CopyBuffers& up, CopyBuffers& down, const Kernels* kernels,
                           const DuplexOptions& options);

struct StreamCopiesOptions {
  Direction direction = Direction::host_to_device;
  std::size_t size_bytes = 0;
  std::size_t num_streams = 1;
  Stopping stopping;
  std::chrono::duration<double> gate_timeout{15.0};
};

/// Measures copies whose bytes are divided among streams, one slice each, from a common start until
/// the last stream is done. Yields one metric, "copy_time": seconds for all `size_bytes`.
///
/// buffers   pinned
/// kernels   null: prepared and verified from the host
/// Throws    UsageError (size, less than 64 bytes a stream, no stream, pageable memory),
///           Unavailable (no gate on this device), CorruptTransfer, TimedOut, DriverError.
Measurement measure_stream_copies(CopyBuffers& buffers, const Kernels* kernels,
                                  const StreamCopiesOptions& options);

}  // namespace isthmus::measure
