// A copy by the device's multiprocessors: a kernel that reads and writes mapped host memory.
#pragma once

#include <array>
#include <functional>

#include "measure/loops/copy_buffers.hpp"

namespace isthmus::measure {

/// What moves the bytes of a copy.
enum class Engine {
  copy_engine,      ///< the driver's copy
  multiprocessors,  ///< an SM copy, by our kernel
};
constexpr auto words_of(Engine) { return std::array{"copy_engine", "multiprocessors"}; }

/// A copy between the first `size_bytes` of both sides by a kernel, ready to be called in a loop.
///
/// The caller holds a CurrentContext and keeps the buffers and the kernels.
class SmCopy {
public:
  /// kernels   null: Unavailable
  /// Throws    UsageError for pageable memory, which a kernel can't access.
  SmCopy(const CopyBuffers& buffers, const Kernels* kernels, Direction direction,
         std::size_t size_bytes);

  void enqueue(CUstream stream) const;

private:
  Kernel kernel_;
  CUdeviceptr source_;
  CUdeviceptr target_;
  std::size_t size_bytes_;
  unsigned num_blocks_;
};

/// Returns a function that enqueues one copy by an engine. Its caller holds a CurrentContext, and
/// keeps the buffers and the kernels alive.
///
/// Throws      as SmCopy.
std::function<void(CUstream)> copy_by(Engine engine, const CopyBuffers& buffers,
                                      const Kernels* kernels, Direction direction,
                                      std::size_t size_bytes);

}  // namespace isthmus::measure
