// The meaning of addresses: device memory of three kinds, pinned memory, registered ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "memory/memory_object.hpp"

namespace isthmus::emulator {

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
