// A piece of device memory: a file in memory, which can be mapped at several addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "address_space.hpp"
#include "cuda_api.hpp"

namespace isthmus::emulator {

struct Device;

/// The pages of the GPU: what can be exported begins and ends at multiples of them.
inline constexpr std::size_t kDevicePageBytes = std::size_t{64} * 1024;

/// Device memory, charged to its device while anything refers to it. The emulator's counterpart of
/// a memory object of NVIDIA's resource manager, numbers included.
class MemoryObject {
public:
  /// Throws Refusal(OUT_OF_MEMORY) if the device hasn't that much left.
  MemoryObject(Device& device, std::size_t size_bytes);
  ~MemoryObject();
  MemoryObject(const MemoryObject&) = delete;
  MemoryObject& operator=(const MemoryObject&) = delete;

  /// Gives it device addresses and maps all of it there. Throws Refusal(OUT_OF_MEMORY).
  void reserve_and_map(std::size_t alignment_bytes);
  /// Maps `size_bytes` of it from its beginning at reserved addresses, untouchable until mprotect
  /// says otherwise. Throws Refusal(OUT_OF_MEMORY).
  void map_at(std::uintptr_t base, std::size_t size_bytes) const;
  /// A new descriptor of its file, with the file's position at `offset_bytes`.
  ///
  /// Throws Refusal: NOT_SUPPORTED without a file, OPERATING_SYSTEM.
  int open_file(std::size_t offset_bytes) const;

  Device& device() const { return device_; }
  std::size_t size_bytes() const { return size_bytes_; }

  /// Of memory that was mapped by reserve_and_map; else 0.
  std::uintptr_t base() const { return addresses_ ? addresses_->base() : 0; }

  std::uint32_t number = 0;                       ///< what a resource manager would call it by
  bool is_shared = false;                         ///< by several allocations
  FreeRanges blocks;                              ///< what none of them has
  std::optional<CUmemAllocationProp> properties;  ///< of memory that cuMemCreate made

private:
  Device& device_;
  std::size_t size_bytes_;
  std::optional<ReservedAddresses> addresses_;
  int file_;  ///< -1 in a process out of descriptors: works, but can't be exported
};

using MemoryObjectPtr = std::shared_ptr<MemoryObject>;

}  // namespace isthmus::emulator
