// What stands behind host memory: nothing, or a file.
#pragma once

#include <cstddef>

#include "host/memory_map.hpp"

namespace isthmus::transfer {

enum class Backing {
  anonymous,
  file,     ///< of all or a part, shared memory included: bytes may vanish when the file shrinks
  unknown,  ///< the kernel doesn't tell at a bearable price
};

/// Asks the kernel about ranges of this process's memory. May be used from any thread.
class MemoryBacking {
public:
  /// 0.6 us where the kernel has PROCMAP_QUERY (Linux 6.11). Where it hasn't, the list of all
  /// mappings is read, which takes 0.1 ms or more, and only for memory that has no pages yet: that
  /// is slow to copy anyway. Other memory is unknown then.
  Backing of(const std::byte* memory, std::size_t size_bytes) const noexcept;

private:
  host::MemoryMap map_;
};

/// As MemoryBacking, from the text of /proc/self/maps.
Backing backing_in_maps(const char* maps, const std::byte* memory, std::size_t size_bytes) noexcept;

/// True if some of a few pages of a range aren't there yet.
bool partly_untouched(const std::byte* memory, std::size_t size_bytes) noexcept;

/// False if the page of a byte can't be read, since its file ends before: reading it would be a
/// SIGBUS. True, too, where the kernel can't tell (before Linux 5.14).
bool readable(const std::byte* byte) noexcept;

}  // namespace isthmus::transfer
