// What happens to a context's things when its last user lets go.
#pragma once

#include "context.hpp"

namespace isthmus::emulator {

/// Frees every stream, event, module and range of a context that nobody retains any more.
///
/// Waits for its work, as a real driver does, except that streams waiting for a value stop waiting.
void release_everything(Lock& lock, Context& context);

}  // namespace isthmus::emulator
