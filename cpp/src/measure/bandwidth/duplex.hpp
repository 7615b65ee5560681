// Both directions at once: what each of them gets while the other is busy, and what they move
// together.
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
  Engine by = Engine::copy_engine;  ///< who moves the bytes, in both directions
};

/// Measures copies in one direction while copies of the same size go the other way, longer than
/// those that are timed. Yields one metric, "copy_time": seconds for one copy.
///
/// As nvbandwidth's bidirectional tests, whose load is twice as long too. A sample during which the
/// other direction fell idle is not taken.
///
/// buffers    pinned; of the copies that are timed
/// load       pinned; other buffers, of the copies the other way
/// kernels    null: prepared and verified from the host
/// Throws     UsageError (size, pageable memory), Unavailable (no gate on this device, no kernel to
///            copy by, or the other direction can't be kept busy), CorruptTransfer, TimedOut,
///            DriverError.
Measurement measure_under_load(CopyBuffers& buffers, CopyBuffers& load, const Kernels* kernels,
                               Direction direction, const DuplexOptions& options);

/// Measures as many copies in one direction as in the other, from a common start. Yields these
/// metrics, in seconds for one copy of `size_bytes`:
///
///   duplex_total   both directions' copies counted, over the common window: from the start until
///                  the last copy of the slower direction is complete
///   duplex_h2d     one direction's copies over its own time, from the same start
///   duplex_d2h     the same of the other
///
/// up, down   pinned, different buffers: from host to device, and from device to host
/// Throws     as measure_under_load.
Measurement measure_duplex(CopyBuffers& up, CopyBuffers& down, const Kernels* kernels,
                           const DuplexOptions& options);

}  // namespace isthmus::measure
