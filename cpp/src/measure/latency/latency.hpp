// The latencies of a small copy. There is no single latency: five different times have five names.
#pragma once

#include <chrono>

#include "measure/latency/small_copy.hpp"

namespace isthmus::measure {

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

}  // namespace isthmus::measure
