// What backs host memory: nothing, or a file.
#pragma once

#include <atomic>
#include <cstddef>

#include "host/memory/memory_map.hpp"

namespace isthmus::transfer {

enum class Backing {
  anonymous,
  file,     ///< all or a part, including shared memory: bytes vanish if the file shrinks
  unknown,  ///< the kernel doesn't tell at an acceptable cost
};

/// Asks the kernel about ranges of this process's memory. May be used from any thread.
class MemoryBacking {
public:
  /// Takes 0.6 us if the kernel has PROCMAP_QUERY (Linux 6.11). Otherwise it reads the list of all
  /// mappings, which takes 0.1 ms or more, and only for memory that has no pages yet: that is slow
  /// to copy anyway. Other memory is `unknown` then.
  Backing of(const std::byte* memory, std::size_t size_bytes) const noexcept;

private:
  host::MemoryMap map_;
};

/// What backs some memory. The kernel is asked when somebody wants to know, which may be any
/// thread.
class LateBacking {
public:
  /// asking      outlives it
  LateBacking(const MemoryBacking& asking, const std::byte* memory, std::size_t size_bytes) noexcept
      : asking_(&asking), memory_(memory), size_bytes_(size_bytes) {}
  /// Known already.
  explicit LateBacking(Backing backing) noexcept : backing_(backing), known_(true) {}

  Backing get() const noexcept {
    if (!known_.load(std::memory_order_acquire)) {
      backing_.store(asking_->of(memory_, size_bytes_), std::memory_order_relaxed);
      known_.store(true, std::memory_order_release);
    }
    return backing_.load(std::memory_order_relaxed);
  }

private:
  const MemoryBacking* asking_ = nullptr;
  const std::byte* memory_ = nullptr;
  std::size_t size_bytes_ = 0;
  mutable std::atomic<Backing> backing_{Backing::unknown};
  mutable std::atomic<bool> known_{false};
};

/// As MemoryBacking, from the text of /proc/self/maps.
Backing backing_in_maps(const char* maps, const std::byte* memory, std::size_t size_bytes) noexcept;

/// True if some pages of a range, of the few that are checked, aren't present yet.
bool partly_untouched(const std::byte* memory, std::size_t size_bytes) noexcept;

/// False if the page of a byte can't be read because its file ends before: reading it would raise
/// SIGBUS. Also true if the kernel can't tell (before Linux 5.14).
bool readable(const std::byte* byte) noexcept;

}  // namespace isthmus::transfer
