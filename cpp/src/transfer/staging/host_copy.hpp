// Copies within host memory that control in which caches the bytes end up.
#pragma once

#include <cstddef>
#include <limits>

namespace isthmus::transfer {

/// How a slot is filled that the device reads next.
enum class SlotStores {
  plain,      ///< leaves the bytes in the core's own caches
  fetched,    ///< as plain, with lines of both ends fetched ahead
  streaming,  ///< past the caches
  demoted,    ///< fetched, and then out of the core's own caches, into the one that all cores and
              ///< devices share
};

/// How the slots of one upload are filled.
struct SlotFilling {
  SlotStores first = SlotStores::plain;
  std::size_t first_bytes = std::numeric_limits<std::size_t>::max();  ///< that are filled so
  SlotStores rest = SlotStores::plain;

  SlotStores at(std::size_t offset_bytes) const noexcept {
    return offset_bytes < first_bytes ? first : rest;
  }
};

/// True if the CPU has AVX-512 and CLDEMOTE, a hint to move a line from the core's own caches to
/// the shared one: Intel's servers since Sapphire Rapids. SlotStores::fetched was measured there only.
bool can_demote() noexcept;

/// Copies. What the CPU doesn't support is treated as plain. Complete when it returns,
/// and ordered for other threads and for devices that they notify.
void copy_by(SlotStores stores, std::byte* target, const std::byte* source,
             std::size_t size_bytes) noexcept;

/// Stores whole lines past the caches: the target isn't read first, and other data in the caches
/// stays. Complete when it returns, and ordered for other threads.
void copy_streaming(std::byte* target, const std::byte* source, std::size_t size_bytes) noexcept;

}  // namespace isthmus::transfer
