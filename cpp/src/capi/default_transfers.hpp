// The C library's copies: one Transfers for all callers, using the library's Windows.
#pragma once

#include <isthmus/transfer.hpp>

namespace isthmus::capi {

/// The process's Transfers on the driver that $ISTHMUS_DRIVER names. Created at the first call.
/// Never destroyed, because CUDA shuts down before static objects are destroyed. May be called from
/// any thread.
///
/// Throws      as default_windows().
Transfers& default_transfers();

}  // namespace isthmus::capi
