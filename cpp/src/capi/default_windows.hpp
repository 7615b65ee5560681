// The windows of a C library: one Windows for all its callers, on the default driver.
#pragma once

#include <isthmus/window.hpp>

namespace isthmus::capi {

/// The process's Windows on the driver that $ISTHMUS_DRIVER names. Connects at the first call; what
/// failed is tried again by the next. Never destroyed: CUDA goes before static objects do. May be
/// called from any thread.
///
/// Throws      what Driver::open and Windows throw; UsageError in a child of fork() whose parent
/// had
///             connected, or was about to, since CUDA doesn't survive fork().
Windows& default_windows();

/// The same if it has been made in this process, else null: connects to no driver.
Windows* default_windows_if_any() noexcept;

}  // namespace isthmus::capi
