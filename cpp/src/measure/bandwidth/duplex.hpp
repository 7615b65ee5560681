// Both directions at once: the bandwidth of each while the other is busy, and of both together.
#pragma once

#include <chrono>

#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/samples.hpp"
#include "measure/loops/sm_copy.hpp"

namespace isthmus::measure {

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

}  // namespace isthmus::measure
