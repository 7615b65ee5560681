// Copies within host memory that say where the bytes shall lie afterwards.
#pragma once

#include <cstddef>

namespace isthmus::transfer {

/// Leaves the target in the processor's caches, where the device's reads find it.
///
/// block_bytes copied at once: below the size from which memcpy stores past the caches
void copy_cached(std::byte* target, const std::byte* source, std::size_t size_bytes,
                 std::size_t block_bytes) noexcept;

/// Stores past the caches, whole lines at a time: the target isn't read first, and what else is in
/// the caches stays. Complete, and in order for other threads, when it returns.
void copy_streaming(std::byte* target, const std::byte* source, std::size_t size_bytes) noexcept;

}  // namespace isthmus::transfer
