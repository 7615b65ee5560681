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

/// True if work may not be marked in `stream` by an event that is asked about later: the stream is
/// captured, or it is the default stream and one that it waits for is. The context is current.
///
/// Throws      DriverError.
bool in_capture(const Driver& driver, CUstream stream);

}  // namespace isthmus
