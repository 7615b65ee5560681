// The copies of isthmus.h, for the files that define its calls.
#pragma once

#include <isthmus/isthmus.h>
#include <isthmus/transfer.hpp>

struct isthmus_future {  // NOLINT(readability-identifier-naming): C's name for it
  isthmus::CopyFuture future;
};

namespace isthmus::capi {

/// The process's Transfers on the driver that $ISTHMUS_DRIVER names. Created at the first call.
/// Never destroyed, because CUDA shuts down before static objects are destroyed. May be called from
/// any thread.
///
/// Throws      as default_windows().
Transfers& default_transfers();

}  // namespace isthmus::capi
