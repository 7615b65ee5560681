// cuMemCreate, cuMemMap and their kin: memory and addresses, each with a life of its own.
#pragma once

#include <cstdint>
#include <map>

#include "memory_object.hpp"

namespace isthmus::emulator {

/// What cuMemCreate and cuMemRetainAllocationHandle hand out. Not synchronised.
class VirtualMemory {
public:
  CUmemGenericAllocationHandle add(MemoryObjectPtr object);
  /// One more reference to the object's handle, or a new handle if it has none any more.
  CUmemGenericAllocationHandle retain(const MemoryObjectPtr& object);
  /// Drops a reference. The object, for the caller to let go of without the machine's mutex.
  MemoryObjectPtr release(CUmemGenericAllocationHandle handle);
  /// Throws Refusal(INVALID_VALUE) for anything that isn't alive, as release does.
  MemoryObjectPtr find(CUmemGenericAllocationHandle handle) const;

  std::map<std::uintptr_t, std::size_t> reservations;  ///< base to size

private:
  struct Handle {
    MemoryObjectPtr object;
    std::size_t num_references = 1;
  };
  std::map<CUmemGenericAllocationHandle, Handle> handles_;
};

}  // namespace isthmus::emulator
