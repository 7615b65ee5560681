// cuMemCreate, cuMemMap and related functions: memory and addresses with separate lifetimes.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include "memory/allocation_record.hpp"
#include "memory/memory_object.hpp"

namespace isthmus::emulator {

/// Handles from cuMemCreate and cuMemRetainAllocationHandle. Not synchronised.
class VirtualMemory {
public:
  CUmemGenericAllocationHandle add(MemoryObjectPtr object);
  /// Adds a reference to the object's handle; creates a new handle if it has none left.
  CUmemGenericAllocationHandle retain(const MemoryObjectPtr& object);
  /// Drops a reference. Returns the object, which the caller releases without the machine's mutex.
  MemoryObjectPtr release(CUmemGenericAllocationHandle handle);
  /// Throws Refusal(INVALID_VALUE) for any handle that isn't alive. So does release().
  MemoryObjectPtr find(CUmemGenericAllocationHandle handle) const;

  std::map<std::uintptr_t, std::size_t> reservations;  ///< base to size

private:
  struct Handle {
    MemoryObjectPtr object;
    std::unique_ptr<AllocationRecord> record;
    std::size_t num_references = 1;
  };
  std::map<CUmemGenericAllocationHandle, Handle> handles_;
  /// The last ones released: their addresses aren't handles again at once, so that misuse is found.
  std::deque<std::unique_ptr<AllocationRecord>> released_;
  std::uintptr_t last_structure_ = 0;  ///< of the record made last
};

}  // namespace isthmus::emulator
