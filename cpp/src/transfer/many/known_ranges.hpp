// What the driver has said about addresses, for the copies of one call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driver/driver.hpp"
#include "transfer/request/host_memory.hpp"
#include "transfer/request/memory_range.hpp"

namespace isthmus::transfer {

/// Which end of a copy an address is.
enum class End { target, source };

/// Remembers the buffers that the driver has named: the arrays of one call often lie in few of
/// them, and asking takes longer than everything else that a small copy needs. Lives for one call,
/// so that nothing is remembered about memory that was freed since. Not for use by two threads at
/// once.
class KnownRanges {
public:
  KnownRanges(const Driver& driver, const HostMemory& host_memory)
      : driver_(driver), host_memory_(host_memory) {}

  /// Like range_at(). A context must be current.
  ///
  /// end             one end's neighbours mostly lie in the same buffer
  /// pinned_matters  false: a short range of ordinary host memory may be called pageable although
  ///                 it is pinned. The copy is right either way; as pageable it needs no answer of
  ///                 the driver.
  /// Throws          DriverError.
  MemoryRange at(End end, std::uintptr_t address, std::size_t size_bytes, bool pinned_matters);

private:
  const MemoryRange* find(std::uintptr_t address) const;
  void keep(const MemoryRange& range);

  const Driver& driver_;
  const HostMemory& host_memory_;
  std::array<MemoryRange, 2> last_;  ///< of each end; of size 0: none
  std::vector<MemoryRange> ranges_;  ///< by address
  bool last_was_pageable_ = false;
};

}  // namespace isthmus::transfer
