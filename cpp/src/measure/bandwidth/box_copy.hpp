// One copy of a box between pinned and shaped memory, and the check that it happened.
#pragma once

#include "measure/bandwidth/shaped_memory.hpp"
#include "measure/loops/copy_buffers.hpp"

namespace isthmus::measure {

/// Copies a box between the beginning of a host buffer, where its rows follow each other, and
/// device memory of its own. To be used as CopyBuffers is: prepare() those, poison() this, copy,
/// verify() this. The caller holds a CurrentContext.
class BoxCopy {
public:
  /// buffers   prepared, pinned, as large as the box or larger; must stay
  /// Throws    UsageError, OutOfDeviceMemory, Unavailable, DriverError.
  BoxCopy(CopyBuffers& buffers, Direction direction, Layout layout, const BoxShape& shape);

  /// cuMemcpy2DAsync, or of a 3-D box cuMemcpy3DAsync.
  void enqueue(CUstream stream) const;

  /// The target doesn't hold what is sent, and the gaps hold what nobody sends. Waits for it.
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
