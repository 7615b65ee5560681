// A piece of device memory: a memory file, which can be mapped at several addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "api/cuda_api.hpp"
#include "memory/address_space.hpp"

namespace isthmus::emulator {

struct Device;

/// The GPU's page size: exported ranges begin and end at multiples of it.
inline constexpr std::size_t kDevicePageBytes = std::size_t{64} * 1024;

/// Device memory, charged to its device as long as there is a reference. It corresponds to a memory
/// object of NVIDIA's resource manager, including its number.
class MemoryObject {
public:
  /// Throws Refusal(OUT_OF_MEMORY) if the device has less memory left.
  MemoryObject(Device& device, std::size_t size_bytes);
  ~MemoryObject();
  MemoryObject(const MemoryObject&) = delete;
  MemoryObject& operator=(const MemoryObject&) = delete;

  /// Reserves device addresses and maps all of it there. Throws Refusal(OUT_OF_MEMORY).
  void reserve_and_map(std::size_t alignment_bytes);
  /// Maps its first `size_bytes` at reserved addresses, inaccessible until mprotect. Throws
  /// Refusal(OUT_OF_MEMORY).
  void map_at(std::uintptr_t base, std::size_t size_bytes) const;
  /// A new descriptor of its file, with the file's position at `offset_bytes`.
  ///
  /// Throws Refusal: NOT_SUPPORTED without a file, OPERATING_SYSTEM.
  int open_file(std::size_t offset_bytes) const;

  Device& device() const { return device_; }
  std::size_t size_bytes() const { return size_bytes_; }

  /// For memory mapped by reserve_and_map; otherwise 0.
  std::uintptr_t base() const { return addresses_ ? addresses_->base() : 0; }

  std::uint32_t number = 0;                       ///< its number in a resource manager
  bool is_shared = false;                         ///< by several allocations
  FreeRanges blocks;                              ///< the free parts of a shared object
  std::optional<CUmemAllocationProp> properties;  ///< if cuMemCreate made it

private:
  Device& device_;
  std::size_t size_bytes_;
  std::optional<ReservedAddresses> addresses_;
  int file_;  ///< -1 if no descriptor was left: works, but can't be exported
};

using MemoryObjectPtr = std::shared_ptr<MemoryObject>;

}  // namespace isthmus::emulator
