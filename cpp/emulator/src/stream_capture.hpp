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
///             this thread's; the capture is no longer valid then.
/// Source      CUDA Driver API 13.0, cuThreadExchangeStreamCaptureMode. Which calls it holds for
///             was seen with driver 580.
void require_no_capture(Lock& lock);

/// The same for what no thread's mode allows: waiting for the whole context.
void require_no_capture_at_all(Lock& lock, const Context& context);

/// Records a copy that was checked, if its stream is captured.
///
/// Returns     false if it isn't: the copy is to be made
bool record_if_captured(Lock& lock, const StreamPtr& stream, const AddressedCopy& copy);

/// Throws Refusal(STREAM_CAPTURE_UNSUPPORTED) for a captured stream: of its work, only copies are
/// recorded here.
void require_not_captured(Lock& lock, const StreamPtr& stream);

/// The same for a question that ends the capture.
void refuse_in_capture(Lock& lock, const StreamPtr& stream);

/// Throws Refusal(STREAM_CAPTURE_IMPLICIT) for the legacy default stream while a stream is captured
/// that waits for it: the capture is no longer valid then. One that doesn't
/// (CU_STREAM_NON_BLOCKING) is left alone. Seen with driver 580.
void refuse_beside_blocking_capture(Lock& lock, const Context& context);

}  // namespace isthmus::emulator
