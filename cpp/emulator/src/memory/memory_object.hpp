// The source of device addresses: reserved pages of the process, which nothing else can get.
// A piece of device memory: a memory file, which can be mapped at several addresses.
// The live memory objects, by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "api/cuda_api.hpp"

namespace isthmus::emulator {

/// First fit, lowest first: the range released last is reused first. Not synchronised.
class FreeRanges {
public:
  /// Adds [base, base + size_bytes), which must not overlap a free range.
  void add(std::uintptr_t base, std::size_t size_bytes);
  /// Takes `size_bytes` and returns their base; nothing if no free range is large enough.
  ///
  /// alignment_bytes   a power of two
  std::optional<std::uintptr_t> take(std::size_t size_bytes, std::size_t alignment_bytes);
  /// Takes exactly these bytes; false if they aren't all free.
  bool take_at(std::uintptr_t base, std::size_t size_bytes);

private:
  using Free = std::map<std::uintptr_t, std::size_t>;
  void cut(Free::iterator range, std::uintptr_t base, std::size_t size_bytes);

  Free free_;  ///< base to size; adjacent ranges are merged
};

/// Device addresses. Accesses to addresses without a mapping fault, also in freed memory. An
/// address that is released is the next one to be reused: real drivers reuse addresses too, and
/// programs must cope with it. May be used from any thread.
class AddressSpace {
public:
  /// Reserves addresses without a mapping.
  ///
  /// alignment_bytes   a power of two, at least a page
  /// wanted            0, or where the caller would like them to begin
  /// Throws            Refusal(OUT_OF_MEMORY)
  std::uintptr_t reserve(std::size_t size_bytes, std::size_t alignment_bytes,
                         std::uintptr_t wanted = 0);
  /// Removes the mapping, if there is one, and releases the addresses.
  void release(std::uintptr_t base, std::size_t size_bytes) noexcept;

private:
  std::mutex mutex_;
  FreeRanges free_;
};

/// The process's device addresses. Never destroyed.
AddressSpace& address_space();

/// Makes reserved addresses inaccessible again. False if the system refused.
bool clear_mapping(std::uintptr_t base, std::size_t size_bytes) noexcept;

/// Reserved addresses that are released with this object.
class ReservedAddresses {
public:
  ReservedAddresses(std::size_t size_bytes, std::size_t alignment_bytes)
      : base_(address_space().reserve(size_bytes, alignment_bytes)), size_bytes_(size_bytes) {}
  ~ReservedAddresses() { address_space().release(base_, size_bytes_); }
  ReservedAddresses(const ReservedAddresses&) = delete;
  ReservedAddresses& operator=(const ReservedAddresses&) = delete;

  std::uintptr_t base() const { return base_; }

private:
  std::uintptr_t base_;
  std::size_t size_bytes_;
};

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

/// A number is reused only after all others. Not synchronised.
class MemoryObjects {
public:
  /// A new object of the device, with a number.
  MemoryObjectPtr make(Device& device, std::size_t size_bytes);
  /// Null if there is none, or it no longer exists.
  MemoryObjectPtr find(std::uint32_t number) const;
  /// Bytes of the objects that cuMemCreate made.
  std::size_t created_bytes() const;

private:
  std::uint32_t next_number();

  std::map<std::uint32_t, std::weak_ptr<MemoryObject>> objects_;
  std::uint32_t last_number_ = 0;
};

}  // namespace isthmus::emulator
