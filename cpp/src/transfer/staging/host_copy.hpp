// Copies within host memory that say where the bytes shall lie afterwards.
#pragma once

#include <cstddef>

namespace isthmus::transfer {

/// How a slot is filled that the device reads next.
enum class SlotStores {
  best,       ///< as this CPU can
  plain,      ///< leaves it in the core's own caches
  streaming,  ///< past the caches
  demoted,    ///< out of the core's own caches, into the one that all cores and devices share
};

/// True if the CPU has CLDEMOTE, which asks for a line to be moved from the core's own caches to
/// the shared one, and AVX-512: Intel's servers since Sapphire Rapids.
bool can_demote() noexcept;

/// Copies; what the CPU can't do, and `best`, is plain. Complete, and in order for other threads
/// and for devices that they tell, when it returns.
void copy_by(SlotStores stores, std::byte* target, const std::byte* source,
             std::size_t size_bytes) noexcept;

/// Stores past the caches, whole lines at a time: the target isn't read first, and what else is in
/// the caches stays. Complete, and in order for other threads, when it returns.
void copy_streaming(std::byte* target, const std::byte* source, std::size_t size_bytes) noexcept;

}  // namespace isthmus::transfer
