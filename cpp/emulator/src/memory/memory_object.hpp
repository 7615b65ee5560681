// Pieces of device memory, and the meaning of addresses: memory files, which can be mapped at
// several of them; pinned memory; registered ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

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

struct Context;

enum class RangeKind {
  device,      ///< from cuMemAlloc
  mapped,      ///< a mapping by cuMemMap
  managed,     ///< from cuMemAllocManaged
  pinned,      ///< from cuMemHostAlloc
  registered,  ///< the caller's, by cuMemHostRegister
};

/// A range of addresses that the driver knows.
struct Range {
  RangeKind kind = RangeKind::device;
  std::uintptr_t base = 0;
  std::size_t size_bytes = 0;           ///< the requested size; accesses beyond it are refused
  std::size_t mapped_bytes = 0;         ///< whole pages, for pinned and managed memory
  MemoryObjectPtr object{};             ///< the object behind device memory and mappings
  std::size_t object_offset_bytes = 0;  ///< where in the object it begins
  Context* context = nullptr;           ///< null for mappings, which belong to no context
  int device = 0;
  std::uint64_t id = 0;                        ///< never reused
  bool from_pool = false;                      ///< from cuMemAllocAsync: no context owns it
  bool accessible = true;                      ///< false for a mapping until cuMemSetAccess
  bool synchronous = false;                    ///< CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
  int prefetched_to = CU_DEVICE_INVALID;       ///< for managed memory, all of it
  int preferred_location = CU_DEVICE_INVALID;  ///< for managed memory, by advice

  bool on_host() const { return kind == RangeKind::pinned || kind == RangeKind::registered; }
};

/// Ranges don't overlap. Not synchronised.
class AddressMap {
public:
  void add(const Range& range) { ranges_.emplace(range.base, range); }
  /// The range that contains all of [address, address + size_bytes), or null. A size of 0 counts as
  /// 1.
  const Range* covering(std::uintptr_t address, std::size_t size_bytes) const;
  /// The same, for changing it.
  Range* find(std::uintptr_t address) { return const_cast<Range*>(covering(address, 1)); }
  /// The first range that overlaps [address, address + size_bytes), or null.
  const Range* first_in(std::uintptr_t address, std::size_t size_bytes) const;
  bool overlaps(std::uintptr_t address, std::size_t size_bytes) const {
    return first_in(address, size_bytes) != nullptr;
  }
  /// Removes the range of that kind that begins there, and returns it; nothing if there is none.
  std::optional<Range> remove(std::uintptr_t base, RangeKind kind);
  std::vector<Range> remove_all_of(const Context& context);
  /// The total `size_bytes` of a kind, and the number of its ranges.
  std::size_t total_bytes(RangeKind kind) const;
  std::size_t count(RangeKind kind) const;

private:
  std::map<std::uintptr_t, Range> ranges_;
};

}  // namespace isthmus::emulator
