#include "device/capture.hpp"

#include <cstdio>
#include <string>

#include <isthmus/errors.hpp>

namespace isthmus {

ScopedRelaxedCapture::ScopedRelaxedCapture(const Driver& driver) noexcept
    : exchange_(driver.raw(symbol::thread_exchange_stream_capture_mode)) {
  // The call swaps: afterwards mode_ holds the thread's previous mode.
  if (exchange_ != nullptr && exchange_(&mode_) != CUDA_SUCCESS) exchange_ = nullptr;
}

ScopedRelaxedCapture::~ScopedRelaxedCapture() {
  if (exchange_ != nullptr) exchange_(&mode_);
}

bool is_captured(const Driver& driver, CUstream stream) try {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  driver.call(symbol::stream_is_capturing)(stream, &status);
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
} catch (const DriverError& error) {
  if (error.code() != CUDA_ERROR_INVALID_HANDLE) throw;
  char handle[32];
  std::snprintf(handle, sizeof handle, "%#zx", reinterpret_cast<std::size_t>(stream));
  throw UsageError(std::string(handle) +
                   " is not the handle of a stream of the current device: it was never one, its "
                   "stream was destroyed, or it belongs to another device; pass a stream of your "
                   "library, or the handle (a CUstream) of one that exists");
}

bool may_be_captured(const Driver& driver, CUstream stream) try {
  return is_captured(driver, stream);
} catch (const DriverError& error) {
  if (error.code() != CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) throw;
  return true;
}

}  // namespace isthmus
