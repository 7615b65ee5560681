// Converts exceptions to isthmus_error.
#pragma once

#include <isthmus/isthmus.h>

namespace isthmus::capi {

/// Fills `error`, unless it is null, from the exception that is being handled.
///
/// Returns     its status, never ISTHMUS_OK.
isthmus_status report_exception(isthmus_error* error) noexcept;

/// Runs `body`. If it throws, returns the status of the exception instead of throwing.
template <typename Body>
isthmus_status guarded(isthmus_error* error, Body&& body) noexcept {
  try {
    body();
    return ISTHMUS_OK;
  } catch (...) {
    return report_exception(error);
  }
}

}  // namespace isthmus::capi
