// What the driver knows of an address.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/driver.hpp"

namespace isthmus {

/// The memory around an address; of what CUDA doesn't know every member is as it is here.
struct PointerFacts {
  CUcontext context = nullptr;  ///< null, too, for memory of cuMemCreate and of pools
  unsigned memory_type = 0;     ///< CU_MEMORYTYPE_*
  unsigned managed = 0;         ///< 1: it moves between host and device
  int device = -1;
  unsigned long long buffer_id = 0;  ///< unique for the life of the process, unlike an address
  CUdeviceptr base = 0;              ///< of what was allocated, mapped or registered at once
  std::size_t size_bytes = 0;
};

/// Asks the driver. A context must be current; which one makes no difference.
///
/// Throws      DriverError.
PointerFacts pointer_facts(const Driver& driver, std::uintptr_t address);

/// Only the type: CU_MEMORYTYPE_*, or 0 for what CUDA doesn't know, and without a current context.
unsigned memory_type_at(const Driver& driver, std::uintptr_t address) noexcept;

}  // namespace isthmus
