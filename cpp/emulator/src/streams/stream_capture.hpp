// Captured streams: copies and launches are recorded, and calls that a capture forbids are refused.
// Graphs of them, and their executable forms.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "api/cuda_api.hpp"
#include "copies/addressed_copies.hpp"
#include "streams/scheduler.hpp"

namespace isthmus::emulator {

/// A node of a graph: a copy, or the launch of a kernel.
struct GraphNode {
  AddressedCopy copy;
  std::function<void()> kernel;  ///< empty: a copy
};

struct StreamCapture {
  StreamPtr stream;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;  ///< the thread that began it
  bool invalidated = false;
  std::vector<GraphNode> nodes;  ///< recorded so far
};

/// Called by functions that may affect more than their stream, such as allocating memory.
///
/// Throws      Refusal(STREAM_CAPTURE_UNSUPPORTED) if a capture forbids that here, by its mode and
///             this thread's; then the capture is invalid.
/// Source      CUDA Driver API 13.0, cuThreadExchangeStreamCaptureMode. The affected calls were
///             found with driver 580.
void require_no_capture(Lock& lock);

/// The same for calls that no thread's mode allows, such as waiting for the whole context.
void require_no_capture_at_all(Lock& lock, const Context& context);

/// Records a checked copy or a launch if its stream is captured.
///
/// Returns     false if it isn't: the caller makes the copy
bool record_if_captured(Lock& lock, const StreamPtr& stream, const GraphNode& node);

/// Adds the launch of a kernel to the end of a stream.
void enqueue_launch(Lock& lock, Context& context, const StreamPtr& stream,
                    std::function<void()> run);

/// Throws Refusal(STREAM_CAPTURE_UNSUPPORTED) for a captured stream: captures only record copies
/// and launches here.
void require_not_captured(Lock& lock, const StreamPtr& stream);

/// The same for a query that ends the capture.
void refuse_in_capture(Lock& lock, const StreamPtr& stream);

/// Throws Refusal(STREAM_CAPTURE_IMPLICIT) for the legacy default stream while a stream that waits
/// for it is captured; the capture is then invalid. Captures of other streams
/// (CU_STREAM_NON_BLOCKING) aren't affected. Seen with driver 580.
void refuse_beside_blocking_capture(Lock& lock, const Context& context);

/// A graph or an executable graph: its nodes in the order in which they were added, which is
/// compatible with their dependencies; for a captured graph, in stream order.
struct Graph {
  Context* context = nullptr;  ///< of an executable graph; the only one to launch it in
  std::vector<GraphNode> nodes;
};

}  // namespace isthmus::emulator
