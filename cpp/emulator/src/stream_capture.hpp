// Streams that are being captured: nothing is recorded, but what a capture forbids is refused.
#pragma once

#include <thread>
#include <vector>

#include "cuda_api.hpp"
#include "stream.hpp"

namespace isthmus::emulator {

struct StreamCapture {
  StreamPtr stream;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;  ///< that began it
  bool invalidated = false;
};

/// Called by what may do more than its stream knows of, such as allocating memory.
///
/// Throws      Refusal(STREAM_CAPTURE_UNSUPPORTED) if a capture forbids that here, by its mode and
/// this
///             thread's; the capture is no longer valid then.
/// Source      CUDA Driver API 13.0, cuThreadExchangeStreamCaptureMode.
void require_no_capture(Lock& lock);

/// Throws Refusal(STREAM_CAPTURE_UNSUPPORTED) for a captured stream, whose work isn't recorded
/// here.
void require_not_captured(Lock& lock, const StreamPtr& stream);

/// The same for a question that ends the capture.
void refuse_in_capture(Lock& lock, const StreamPtr& stream);

}  // namespace isthmus::emulator
