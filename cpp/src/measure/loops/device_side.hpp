// The device's end of a copy: its own allocation, or memory of the device's pool.
#pragma once

#include <array>
#include <variant>

#include "device/buffers.hpp"

namespace isthmus::measure {

enum class DeviceMemory {
  allocated,  ///< cuMemAlloc (cudaMalloc)
  pool,       ///< cuMemAllocAsync (cudaMallocAsync): the stream-ordered pool of the device
};
constexpr auto words_of(DeviceMemory) { return std::array{"device", "pool"}; }

/// Device memory of the stream-ordered pool. Movable. Freed with cuMemFree, which waits for all
/// work.
class PoolBuffer {
public:
  /// Throws   UsageError (size), Unavailable (no pools here), OutOfDeviceMemory, DriverError.
  PoolBuffer(const Context& context, std::size_t size_bytes);

  CUdeviceptr pointer() const noexcept { return owned_.handle(); }

private:
  Owned<CUdeviceptr> owned_;
};

/// Device memory of either kind. Movable.
class DeviceSide {
public:
  /// Throws   what DeviceBuffer and PoolBuffer throw.
  DeviceSide(const Context& context, DeviceMemory memory, std::size_t size_bytes);

  CUdeviceptr pointer() const noexcept {
    return std::visit([](const auto& held) { return held.pointer(); }, held_);
  }

private:
  std::variant<DeviceBuffer, PoolBuffer> held_;
};

}  // namespace isthmus::measure
