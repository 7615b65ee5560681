// Memory that certainly is this process's ordinary memory, known without a system call.
#pragma once

#include <cstddef>

namespace isthmus::host {

/// True if [begin, begin + size_bytes) lies in the calling thread's stack or in the heap that brk()
/// grows: a driver never maps anything there. False means unknown. Takes 5 ns.
///
/// size_bytes  > 0
bool is_own_memory(const void* begin, std::size_t size_bytes) noexcept;

}  // namespace isthmus::host
