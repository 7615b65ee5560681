// Streams that are being captured: copies are recorded, and what a capture forbids is refused.
#pragma once

#include <thread>
#include <vector>

#include "addressed_copies.hpp"
#include "cuda_api.hpp"
#include "stream.hpp"

namespace isthmus::emulator {

struct StreamCapture {
  StreamPtr stream;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;  ///< that began it
  bool invalidated = false;
  std::vector<AddressedCopy> copies;  ///< recorded so far
};

/// Called by what may do more than its stream knows of, such as allocating memory.
///
/// Throws      Refusal(STREAM_CAPTURE_UNSUPPORTED) if a capture forbids that here, by its mode and
/// this
///             thread's; the capture is no longer valid then.
/// Source      CUDA Driver API 13.0, cuThreadExchangeStreamCaptureMode.
void require_no_capture(Lock& lock);

/// Records a copy that was checked, if its stream is captured.
///
/// Returns     false if it isn't: the copy is to be made
bool record_if_captured(Lock& lock, const StreamPtr& stream, const AddressedCopy& copy);

/// Throws Refusal(STREAM_CAPTURE_UNSUPPORTED) for a captured stream: of its work, only copies are
/// recorded here.
void require_not_captured(Lock& lock, const StreamPtr& stream);

/// The same for a question that ends the capture.
void refuse_in_capture(Lock& lock, const StreamPtr& stream);

}  // namespace isthmus::emulator
