// The pools of a copy of blocks, checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <isthmus/blocks.hpp>

#include "driver/driver.hpp"
#include "transfer/many/known_ranges.hpp"
#include "transfer/request/host_memory.hpp"
#include "transfer/request/memory_range.hpp"

namespace isthmus::transfer {

/// One end of a copy: pools of all layers, in memory of one kind.
struct PoolEnd {
  std::vector<BlockPool> pools;  ///< with their strides
  MemoryKind kind = MemoryKind::pageable;
  int device = -1;  ///< of device memory

  /// The least number of blocks in a layer.
  std::size_t count() const noexcept;
  bool on_device() const noexcept { return kind == MemoryKind::device; }
};

/// Memory of pools as it was when they were checked.
struct KnownBuffer {
  std::uintptr_t address = 0;
  std::uint64_t id = 0;
};

/// Both ends.
struct CheckedPools {
  PoolEnd target;
  PoolEnd source;
  std::size_t block_bytes = 0;
  bool in_place = false;  ///< a pool is target and source
  std::vector<KnownBuffer> buffers;
};

/// Checks what doesn't depend on the indices.
///
/// known       a context is current; null if there is none: then all memory is the host's
/// Throws      UsageError: no layers, as many of one end as of the other, blocks of 0 bytes, strides
///             shorter than blocks, pools that overlap, are null, freed or shorter than they say, or
///             lie in memories of several kinds. DriverError.
CheckedPools check_pools(const Driver& driver, const HostMemory& host_memory, const BlockCopy& copy,
                         KnownRanges* known);

}  // namespace isthmus::transfer
