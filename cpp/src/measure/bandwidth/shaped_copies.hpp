// Copies of boxes whose rows aren't contiguous on the device: 2-D, 3-D, and arrays.
#pragma once

#include <chrono>

#include "measure/bandwidth/shaped_memory.hpp"
#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {

/// Copies a box between the beginning of a host buffer, where rows are contiguous, and device
/// memory that this object owns. Use it like CopyBuffers: prepare() those, poison() this, copy,
/// verify() this. The caller holds a CurrentContext.
class BoxCopy {
public:
  /// buffers   prepared, pinned, as large as the box or larger; must stay
  /// Throws    UsageError, OutOfDeviceMemory, Unavailable, DriverError.
  BoxCopy(CopyBuffers& buffers, Direction direction, BoxLayout layout, const BoxShape& shape);

  /// Calls cuMemcpy2DAsync, or cuMemcpy3DAsync for a 3-D box.
  void enqueue(CUstream stream) const;

  /// Overwrites the target, and fills the gaps with poison that no copy sends. Waits until it is
  /// complete.
  void poison();

  /// All copies must be complete. Throws CorruptTransfer.
  void verify();

  BoxEnd device_end() const noexcept { return memory_->end(); }

private:
  CopyBuffers& buffers_;
  Driver driver_;
  Direction direction_;
  BoxShape shape_;
  std::unique_ptr<ShapedMemory> memory_;
  CUDA_MEMCPY3D copy_;
};

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
