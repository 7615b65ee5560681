// Graph capture, as it affects code that runs at the same time.
#pragma once

#include "driver/driver.hpp"

namespace isthmus {

/// While it lives, the calling thread may make calls that are otherwise forbidden while a stream is
/// captured, such as pinning memory. They must have nothing to do with the captured work. Without
/// it they fail and invalidate the capture.
///
/// Source      CUDA Driver API 13.0, cuThreadExchangeStreamCaptureMode.
class [[nodiscard]] ScopedRelaxedCapture {
public:
  explicit ScopedRelaxedCapture(const Driver& driver) noexcept;
  ~ScopedRelaxedCapture();
  ScopedRelaxedCapture(const ScopedRelaxedCapture&) = delete;
  ScopedRelaxedCapture& operator=(const ScopedRelaxedCapture&) = delete;

private:
  CUresult (*exchange_)(CUstreamCaptureMode*);
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// True if work in `stream` is being recorded instead of executed. A context must be current.
///
/// Throws      UsageError if the driver says that it isn't a stream: a program may pass any number;
///             DriverError(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) for the legacy default stream while
///             a stream is captured that may wait for it; the capture stays valid.
bool is_captured(const Driver& driver, CUstream stream);

/// The same for callers that may treat a stream as captured although it isn't: true if
/// is_captured() can't tell.
///
/// Throws      DriverError of another kind.
bool may_be_captured(const Driver& driver, CUstream stream);

}  // namespace isthmus
