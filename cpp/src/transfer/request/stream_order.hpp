// When a copy may begin: after the work that its stream already has.
#pragma once

#include "driver/driver.hpp"

namespace isthmus::transfer {

/// True for both names of the legacy default stream.
inline bool is_legacy(CUstream stream) { return stream == nullptr || stream == CU_STREAM_LEGACY; }

/// Waits until the work that is now in the stream is done; fast if the stream is idle.
///
/// Throws      DriverError if any of that work failed.
void wait_for_work(const Driver& driver, CUstream stream);

/// True if the stream has no work left.
///
/// Throws      DriverError if any of its work failed.
bool is_idle(const Driver& driver, CUstream stream);

}  // namespace isthmus::transfer
