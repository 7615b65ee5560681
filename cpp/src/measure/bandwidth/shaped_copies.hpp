// Copies of rows that aren't contiguous on the device: 2-D, 3-D, and arrays.
#pragma once

#include <chrono>

#include "measure/bandwidth/shaped_memory.hpp"
#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/samples.hpp"

namespace isthmus::measure {

struct ShapedCopiesOptions {
  Direction direction = Direction::host_to_device;
  BoxLayout layout = BoxLayout::pitched;
  BoxShape shape;
  Stopping stopping;
  std::chrono::duration<double> gate_timeout{15.0};
};

/// Measures cuMemcpy2DAsync, or cuMemcpy3DAsync for a 3-D box, between contiguous rows in host
/// memory and rows with gaps between them on the device, or an array. Yields one metric,
/// "copy_time": seconds for all rows.
///
/// buffers   pinned, at least as large as the box; the shaped memory is allocated besides
/// kernels   null: the pattern is prepared from the host
/// Throws    UsageError (no row, pageable memory, buffers too small, parts of elements),
///           Unavailable (no gate on this device), CorruptTransfer, TimedOut, OutOfDeviceMemory,
///           DriverError.
Measurement measure_shaped_copies(CopyBuffers& buffers, const Kernels* kernels,
                                  const ShapedCopiesOptions& options);

}  // namespace isthmus::measure
