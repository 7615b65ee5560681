// Copies within host memory that control in which caches the bytes end up.
#pragma once

#include <cstddef>

namespace isthmus::transfer {

/// How a slot is filled that the device reads next.
enum class SlotStores {
  best,       ///< the best for this CPU
  plain,      ///< leaves the bytes in the core's own caches
  streaming,  ///< past the caches
  demoted,    ///< out of the core's own caches, into the cache that all cores and devices share
};

/// True if the CPU has AVX-512 and CLDEMOTE, a hint to move a line from the core's own caches to
/// the shared one: Intel's servers since Sapphire Rapids.
bool can_demote() noexcept;

/// Copies. What the CPU doesn't support, and `best`, is treated as plain. Complete when it returns,
/// and ordered for other threads and for devices that they notify.
void copy_by(SlotStores stores, std::byte* target, const std::byte* source,
             std::size_t size_bytes) noexcept;

/// Stores whole lines past the caches: the target isn't read first, and other data in the caches
/// stays. Complete when it returns, and ordered for other threads.
void copy_streaming(std::byte* target, const std::byte* source, std::size_t size_bytes) noexcept;

}  // namespace isthmus::transfer
