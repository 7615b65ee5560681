// One copy shared by several streams: do more streams saturate the link better?
#pragma once

#include <chrono>

#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {

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
