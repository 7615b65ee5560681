// Memory that can't be anything but this process's ordinary own, known without asking anybody.
#pragma once

#include <cstddef>

namespace isthmus::host {

/// True if [begin, begin + size_bytes) lies in the calling thread's stack or in the heap that grows
/// by brk: a driver never maps anything there. False says nothing. 5 ns.
///
/// size_bytes  > 0
bool is_own_memory(const void* begin, std::size_t size_bytes) noexcept;

}  // namespace isthmus::host
