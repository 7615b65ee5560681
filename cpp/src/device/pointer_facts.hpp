// What the driver knows about an address.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/driver.hpp"

namespace isthmus {

/// The memory around an address. For memory unknown to CUDA all members have these defaults.
struct PointerFacts {
  CUcontext context = nullptr;  ///< also null for memory from cuMemCreate and from pools
  unsigned memory_type = 0;     ///< CU_MEMORYTYPE_*
  unsigned managed = 0;         ///< 1: it moves between host and device
  int device = -1;
  unsigned long long buffer_id = 0;  ///< unlike an address, unique for the life of the process
  CUdeviceptr base = 0;              ///< of the allocation, mapping or registration
  std::size_t size_bytes = 0;
};

/// Asks the driver. A context must be current; which one makes no difference.
///
/// Throws      DriverError.
PointerFacts pointer_facts(const Driver& driver, std::uintptr_t address);

/// Only the type: CU_MEMORYTYPE_*; 0 if CUDA doesn't know the address or no context is current.
unsigned memory_type_at(const Driver& driver, std::uintptr_t address) noexcept;

/// True if all of [address, address + size_bytes) is pinned: in one registration or allocation, or
/// in several without a gap. If the driver doesn't say how far one reaches, the last byte decides.
bool is_pinned(const Driver& driver, std::uintptr_t address, std::size_t size_bytes) noexcept;

}  // namespace isthmus
