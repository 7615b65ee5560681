// Copies within host memory that say where the bytes shall lie afterwards.
#pragma once

#include <cstddef>

namespace isthmus::transfer {

/// Stores past the caches, whole lines at a time: the target isn't read first, and what else is in
/// the caches stays. Complete, and in order for other threads, when it returns.
void copy_streaming(std::byte* target, const std::byte* source, std::size_t size_bytes) noexcept;

}  // namespace isthmus::transfer
