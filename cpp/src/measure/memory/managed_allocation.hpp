// Owned managed memory, and the check to make before using any.
#pragma once

#include "device/owned.hpp"

namespace isthmus::measure {

/// More has crashed whole machines, and no driver frees it quickly.
inline constexpr std::size_t kMaxManagedBytes = std::size_t{512} << 20U;

/// Managed memory from cuMemAllocManaged. Movable.
class ManagedAllocation {
public:
  /// Throws   UsageError (none, or more than kMaxManagedBytes); Unavailable if the device has no
  ///          managed memory, or not enough free memory; DriverError.
  ManagedAllocation(const Context& context, std::size_t size_bytes);

  CUdeviceptr device() const noexcept { return owned_.handle(); }
  /// Its address is the same on both sides.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  std::byte* host() const noexcept { return reinterpret_cast<std::byte*>(owned_.handle()); }
  std::size_t size_bytes() const noexcept { return size_bytes_; }

private:
  Owned<CUdeviceptr> owned_;
  std::size_t size_bytes_;
};

/// device      its ordinal, or CU_DEVICE_CPU
CUmemLocation location_of(int device) noexcept;

/// Throws Unavailable unless CPU and device may use managed memory at the same time: without that
/// there are no faults, prefetches or advice.
void require_concurrent_access(const Context& context);

}  // namespace isthmus::measure
