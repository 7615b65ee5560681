#include "device/capture.hpp"

namespace isthmus {

ScopedRelaxedCapture::ScopedRelaxedCapture(const Driver& driver) noexcept
    : exchange_(driver.raw(symbol::thread_exchange_stream_capture_mode)) {
  // It swaps: the thread's own mode is in mode_ from here on.
  if (exchange_ != nullptr && exchange_(&mode_) != CUDA_SUCCESS) exchange_ = nullptr;
}

ScopedRelaxedCapture::~ScopedRelaxedCapture() {
  if (exchange_ != nullptr) exchange_(&mode_);
}

bool in_capture(const Driver& driver, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = driver.raw(symbol::stream_is_capturing)(stream, &status);
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
  driver.check(result, symbol::stream_is_capturing.name);
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace isthmus
