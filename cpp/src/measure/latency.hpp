// The latencies of a small copy. There is no one number called latency: there are five, with five
// names.
#pragma once

#include <chrono>

#include "measure/copy_buffers.hpp"
#include "measure/samples.hpp"

namespace isthmus::measure {

/// How the copy is asked for.
enum class Method {
  blocking,  ///< cuMemcpyHtoD / DtoH (cudaMemcpy), ordered by the legacy default stream
  async,  ///< cuMemcpyHtoDAsync / DtoHAsync (cudaMemcpyAsync) on a stream, then cuStreamSynchronize
};

struct LatencyOptions {
  Direction direction = Direction::host_to_device;
  Method method = Method::blocking;
  std::size_t size_bytes = 4;
  Stopping stopping;  ///< for each metric by itself
  std::chrono::duration<double> answer_timeout{5.0};
};

/// Measures one size, direction and method. Yields these metrics, each in seconds for one copy:
///
///   api_return             CPU clock around the call alone
///   completion             CPU clock around the call and the wait for the stream; around the
///                          call alone where it returns complete (blocking D2H)
///   event_delta            device clock between an event recorded before and one after; an async
///                          copy of pinned memory waits behind a gate, so asking is not in it
///   event_floor            the same with nothing between: what event_delta can't go below
///   reciprocal_throughput  N calls back to back and one wait, over N
///   visible                H2D: CPU clock from the call until a running kernel's answer to the
///                          new value is seen in pinned memory; includes the answer's way back.
///                          D2H, async: from the call until the CPU reads the new value, without
///                          waiting.
///
/// A metric is waived where it means nothing or can't run (the reason is in the result):
/// "api_return" of a blocking D2H, which is its completion; "visible" of a blocking D2H, of fewer
/// than 4 bytes, of an async copy to pageable memory, without kernels; the events without a gate.
/// All other metrics' copies are verified.
///
/// kernels   null: "visible" from host to device is waived
/// Throws    UsageError (size), CorruptTransfer, TimedOut (a kernel never answered), DriverError.
Measurement measure_latency(CopyBuffers& buffers, const Kernels* kernels,
                            const LatencyOptions& options);

}  // namespace isthmus::measure
