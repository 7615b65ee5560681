// The copies of the C library: one Transfers for all its callers, over its windows.
#pragma once

#include <isthmus/transfer.hpp>

namespace isthmus::capi {

/// The process's Transfers on the driver that $ISTHMUS_DRIVER names. Made at the first call, never
/// destroyed: CUDA goes before static objects do. May be called from any thread.
///
/// Throws      as default_windows().
Transfers& default_transfers();

}  // namespace isthmus::capi
