// When a copy may begin: after the work that its stream already has.
#pragma once

#include <cstdint>

#include <isthmus/transfer.hpp>

#include "driver/driver.hpp"

namespace isthmus::transfer {

inline CUstream stream_of(const CopyOptions& options) noexcept {
  return reinterpret_cast<CUstream>(options.stream);
}

/// True if work in the stream is being recorded rather than done.
///
/// Throws      DriverError(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) for the legacy default stream while
///             a stream that waits for it is captured; the capture stays valid.
bool is_captured(const Driver& driver, CUstream stream);

/// Waits until the work that is now in the stream is done; quick if it is idle.
///
/// Throws      DriverError if any of that work failed.
void wait_for_work(const Driver& driver, CUstream stream);

}  // namespace isthmus::transfer
