// Graph capture, seen from code that runs beside it.
#pragma once

#include "driver/driver.hpp"

namespace isthmus {

/// Lets the calling thread make calls that are unsafe while some stream is captured, for its own
/// lifetime: calls that have nothing to do with what is captured, such as pinning memory. Without
/// it they fail, and the capture with them.
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

/// True if work in `stream` is being recorded rather than done. The context is current.
///
/// Throws      DriverError(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) for the legacy default stream while
///             a stream is captured that may wait for it; the capture stays valid.
bool is_captured(const Driver& driver, CUstream stream);

/// The same for those who may take a stream for captured that isn't: true where is_captured()
/// can't tell.
///
/// Throws      DriverError of another kind.
bool may_be_captured(const Driver& driver, CUstream stream);

}  // namespace isthmus
