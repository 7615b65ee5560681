// One watched call: what happens before and after the driver's own function.
#pragma once

#include "preload/counting.hpp"

namespace isthmus::preload {

/// Calls inside a watched call, of this thread, are nobody's business: the driver's, and the engine's.
extern __thread bool is_inside_call __attribute__((tls_model("initial-exec")));

/// Corrects the kinds in `what` if they no longer hold.
Taken begin_call(const Entry& entry, What& what);
/// Counts the call that has begun, and has returned `result`.
void end_call(const Entry& entry, const What& what, Taken taken, CUresult result);

}  // namespace isthmus::preload
