// One copy of a box between pinned and shaped memory, and its verification.
#pragma once

#include "measure/bandwidth/shaped_memory.hpp"
#include "measure/loops/copy_buffers.hpp"

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

}  // namespace isthmus::measure
