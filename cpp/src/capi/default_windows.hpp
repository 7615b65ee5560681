// The windows of a C library: one Windows for all callers, on the default driver.
#pragma once

#include <isthmus/window.hpp>

namespace isthmus::capi {

/// The process's Windows on the driver that $ISTHMUS_DRIVER names. Connects at the first call; if
/// that fails, the next call tries again. Never destroyed, because CUDA shuts down before static
/// objects are destroyed. May be called from any thread.
///
/// Throws      what Driver::open and Windows throw.
Windows& default_windows();

/// The same Windows if this process has created them, else null: connects to no driver.
Windows* default_windows_if_any() noexcept;

}  // namespace isthmus::capi
