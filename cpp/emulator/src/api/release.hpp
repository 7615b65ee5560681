// Releases a context's resources after its last user.
#pragma once

#include "api/context.hpp"

namespace isthmus::emulator {

/// Frees every stream, event, module and range of a context that is no longer retained.
///
/// Waits for its work, as a real driver does, except that streams waiting for a value stop waiting.
void release_everything(Lock& lock, Context& context);

}  // namespace isthmus::emulator
