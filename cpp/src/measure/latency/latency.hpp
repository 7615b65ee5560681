// The latencies of a small copy, in any of the ways that CUDA and windows offer: there is no single
// latency, five different times have five names. And of a kernel's stores and loads across the
// link.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>

#include <isthmus/window.hpp>

#include "device/buffers.hpp"
#include "device/kernels.hpp"
#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/sampling.hpp"

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

struct LatencyOptions {
  Direction direction = Direction::host_to_device;
  Method method = Method::blocking;
  std::size_t size_bytes = 4;
  Stopping stopping;  ///< for each metric separately
  std::chrono::duration<double> answer_timeout{5.0};
  /// True: the host's bytes were evicted from the CPU's caches before each copy.
  bool cold = false;
  Windows* windows = nullptr;  ///< on the context's driver; for Method::window
};

/// Measures one size, direction and method. Yields these metrics, each in seconds for one copy:
///
///   api_return             CPU clock around the call alone
///   completion             CPU clock around the call and the wait for the stream; around the call
///                          alone if it returns when the copy is complete (blocking D2H, a window's
///                          D2H). A write through a window is complete when its last byte could be
///                          read back.
///   event_delta            device clock between an event recorded before and one after; work that
///                          can wait behind a gate does, so that enqueueing isn't included
///   event_floor            the same with nothing between: the minimum of event_delta
///   reciprocal_throughput  N calls back to back and one wait, divided by N; not for cold bytes
///   visible                H2D: CPU clock from the call until a running kernel's answer to the new
///                          value is seen in pinned memory; includes the answer's way back. D2H, if
///                          the call returns before the copy is complete: from the call until the
///                          CPU reads the new value, without waiting.
///
/// A metric is waived if it is meaningless or can't run (the reason is in the result): "api_return"
/// of copies that are complete on return; "visible" of the same, of fewer than 4 bytes, of an async
/// copy to pageable memory, without kernels; the events without a gate, and for a window. All other
/// metrics' copies are verified.
///
/// kernels   null: "visible" from host to device is waived
/// Throws    UsageError (size, memory), Unavailable (this method, or cold bytes, here),
///           CorruptTransfer, TimedOut (a kernel never answered), DriverError.
Measurement measure_latency(CopyBuffers& buffers, const Kernels* kernels,
                            const LatencyOptions& options);

struct KernelPushOptions {
  std::size_t size_bytes = 0;
  Stopping stopping;  ///< for each metric separately
  std::chrono::duration<double> answer_timeout{5.0};
};

/// Measures how long it takes to bring device bytes into pinned host memory by a kernel's stores.
/// Yields these metrics, in seconds by the CPU's clock, until the CPU sees the flag that follows
/// the bytes:
///
///   launched   from the launch of the kernel
///   asked      from a store through a window, which a kernel that already runs polls
///
/// "asked" is waived without windows. The target is poisoned before and compared after each set of
/// samples.
///
/// kernels   null: Unavailable
/// Throws    UsageError (size), Unavailable, CorruptTransfer, TimedOut (the flag never came),
///           DriverError.
Measurement measure_kernel_push(const Context& context, Windows& windows, const Kernels* kernels,
                                const KernelPushOptions& options);

enum class ChaseOrder {
  strided,  ///< one line after the other, as in nvbandwidth's host_device_latency_sm
  random,   ///< in random order: every load may need its own address translation
};
constexpr auto words_of(ChaseOrder) { return std::array{"strided", "random"}; }

struct PointerChaseOptions {
  std::size_t size_bytes = std::size_t{2} << 20U;  ///< of the memory that the chain visits
  ChaseOrder order = ChaseOrder::strided;
  std::optional<int> numa_node;  ///< the memory's node; empty: by the calling thread's policy
  Stopping stopping;
};

/// Follows a chain of pointers through pinned host memory from a kernel. Yields one metric,
/// "access_latency": seconds for one load, by the device's clock. A sample is one round through the
/// whole chain, with one load from each line of 128 bytes; the sum of its links is verified.
///
/// kernels   null: Unavailable
/// Throws    UsageError (fewer than 16 lines), Unavailable, CorruptTransfer, DriverError.
Measurement measure_pointer_chase(const Context& context, const Kernels* kernels,
                                  const PointerChaseOptions& options);

}  // namespace isthmus::measure
