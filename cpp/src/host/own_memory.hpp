// Memory that can't be anything but this process's ordinary own, known without asking anybody.
#pragma once

namespace isthmus::host {

/// True if `address` lies in the calling thread's stack or in the heap that grows by brk: a driver
/// never maps anything there. False says nothing.
bool is_own_memory(const void* address) noexcept;

}  // namespace isthmus::host
