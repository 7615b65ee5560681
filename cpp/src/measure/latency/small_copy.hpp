// One small copy, in any of the ways that CUDA and windows offer.
#pragma once

#include <array>
#include <memory>

#include <isthmus/window.hpp>

#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/samples.hpp"

namespace isthmus::measure {

/// The way a small copy is made.
enum class Method {
  blocking,  ///< cuMemcpyHtoD / DtoH (cudaMemcpy), ordered by the legacy default stream
  async,  ///< cuMemcpyHtoDAsync / DtoHAsync (cudaMemcpyAsync) on a stream, then cuStreamSynchronize
  batch,  ///< cuMemcpyBatchAsync (cudaMemcpyBatchAsync) of one entry, from CUDA 12.8 on
  graph,  ///< cuGraphLaunch of an instantiated graph with one memcpy node
  kernel,  ///< a kernel that reads or writes the host's memory
  window,  ///< the CPU's own stores or loads through a window: no stream, no copy engine
};
constexpr auto words_of(Method) {
  return std::array{"blocking", "async", "batch", "graph", "kernel", "window"};
}

/// A copy between the first bytes of both sides, ready to be called in a loop. The caller holds a
/// CurrentContext and keeps the buffers alive.
class SmallCopy {
public:
  SmallCopy() = default;
  virtual ~SmallCopy() = default;
  SmallCopy(const SmallCopy&) = delete;
  SmallCopy& operator=(const SmallCopy&) = delete;

  virtual void call() = 0;
  /// Returns when all copies called so far have arrived.
  virtual void wait() = 0;
  /// The copy's stream; null for the legacy default stream and for the CPU's own copies.
  virtual CUstream stream() const noexcept = 0;
};

/// The properties of a method.
struct MethodTraits {
  bool in_stream;       ///< ordered by a stream, so that events can time it
  bool can_wait;        ///< the call returns before the copy has begun, so that a gate can hold it
  bool over_on_return;  ///< the call returns only when the bytes have arrived
};
MethodTraits traits_of(Method method, Direction direction, HostMemory host_memory);

/// Prepares a copy: builds a batch or a graph, loads a kernel, or opens a window.
///
/// kernels     null: Unavailable for Method::kernel
/// windows     null: Unavailable for Method::window
/// Throws      Unavailable if this driver or machine lacks something; UsageError for pageable
///             memory with a method that needs pinned memory.
std::unique_ptr<SmallCopy> make_small_copy(CopyBuffers& buffers, const Kernels* kernels,
                                           Windows* windows, Direction direction, Method method,
                                           std::size_t size_bytes);

}  // namespace isthmus::measure
