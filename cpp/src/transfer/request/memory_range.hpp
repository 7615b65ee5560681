// What the driver knows about an address.
#pragma once

#include <cstddef>
#include <cstdint>

#include <isthmus/transfer.hpp>

#include "driver/driver.hpp"

namespace isthmus::transfer {

/// The memory around an address. For pageable memory only the kind is known.
struct MemoryRange {
  MemoryKind kind = MemoryKind::pageable;
  int device = -1;  ///< of device memory; for pinned memory the device it was pinned for
  std::uintptr_t base = 0;
  std::size_t size_bytes = 0;
  std::uint64_t buffer_id = 0;  ///< unlike an address, unique for the life of the process
  /// Of pageable memory: HostTouch::direct for the range that was asked about. False: unknown.
  bool touchable = false;
};

/// Asks the driver about one address. A context must be current.
///
/// Throws      DriverError.
MemoryRange range_at(const Driver& driver, std::uintptr_t address);

/// True if a caller's hint says that memory is the host's and may be touched.
inline bool is_said_to_be_host(MemoryKind hint) noexcept {
  return hint == MemoryKind::host || hint == MemoryKind::pageable || hint == MemoryKind::pinned;
}

/// True if [address, address + size_bytes) extends past the memory around its beginning.
bool reaches_past(const MemoryRange& range, std::uintptr_t address, std::size_t size_bytes);

/// True if all of [address, address + size_bytes) is pinned: by the registration around its beginning,
/// or by several without a gap, as long arrays of isthmus.pinned are.
bool is_pinned_whole(const Driver& driver, const MemoryRange& range, std::uintptr_t address,
                     std::size_t size_bytes);

/// Checks that [address, address + size_bytes) stays inside the memory around it.
///
/// role        "source" or "target", for the message
/// Throws      UsageError. Adjacent mappings of cuMemMap count as one range. The size of host
///             memory is unknown, even if a part of it is pinned.
void require_inside(const Driver& driver, const MemoryRange& range, std::uintptr_t address,
                    std::size_t size_bytes, const char* role);

}  // namespace isthmus::transfer
