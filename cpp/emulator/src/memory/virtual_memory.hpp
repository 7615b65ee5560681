// Device memory without an address of its own: CUDA arrays, which have a shape, and cuMemCreate,
// cuMemMap and related functions, where memory and addresses have separate lifetimes.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include "api/context.hpp"
#include "memory/memory_object.hpp"

namespace isthmus::emulator {

/// An array. It lives until it is destroyed or its context is released. Its rows are contiguous.
struct Array {
  Context* context = nullptr;
  MemoryObjectPtr object;
  std::size_t element_bytes = 1;
  std::size_t row_bytes = 0;
  std::size_t num_rows = 1;  ///< in one slice
  std::size_t num_slices = 1;

  std::size_t size_bytes() const { return row_bytes * num_rows * num_slices; }
};

/// Bytes of all live arrays.
std::size_t array_bytes(Lock& lock);

/// The structure whose address is the handle, as far as driver 580's is known: the number of the
/// memory object lies at [0x60]->[0x38] and at [0xe8]->[0x58]. Behind another pointer lies another
/// object's number.
///
/// Source: docs/adr/0016-memory-without-a-handle.md.
class AllocationRecord {
public:
  /// number      of the memory object
  /// neighbour   structure() of another record, which may be gone; 0 if there is none
  AllocationRecord(std::uint32_t number, std::uintptr_t neighbour);
  AllocationRecord(const AllocationRecord&) = delete;
  AllocationRecord& operator=(const AllocationRecord&) = delete;

  std::uintptr_t handle() const { return reinterpret_cast<std::uintptr_t>(words_.data()); }
  /// The address of one that has the number.
  std::uintptr_t structure() const { return reinterpret_cast<std::uintptr_t>(memory_.data()); }

private:
  static constexpr std::size_t kBytes = 512;
  using Structure = std::array<std::uint32_t, kBytes / sizeof(std::uint32_t)>;

  std::array<std::uint64_t, kBytes / sizeof(std::uint64_t)> words_{};
  Structure memory_{};   ///< behind [0x60]
  Structure mapping_{};  ///< behind [0xe8]
};

/// Handles from cuMemCreate and cuMemRetainAllocationHandle. Not synchronised.
class VirtualMemory {
public:
  CUmemGenericAllocationHandle add(MemoryObjectPtr object);
  /// Adds a reference to the object's handle; creates a new handle if it has none left.
  CUmemGenericAllocationHandle retain(const MemoryObjectPtr& object);
  /// Drops a reference. Returns the object, which the caller releases without the machine's mutex.
  MemoryObjectPtr release(CUmemGenericAllocationHandle handle);
  /// Throws Refusal(INVALID_VALUE) for any handle that isn't alive. So does release().
  MemoryObjectPtr find(CUmemGenericAllocationHandle handle) const;

  std::map<std::uintptr_t, std::size_t> reservations;  ///< base to size

private:
  struct Handle {
    MemoryObjectPtr object;
    std::unique_ptr<AllocationRecord> record;
    std::size_t num_references = 1;
  };
  std::map<CUmemGenericAllocationHandle, Handle> handles_;
  /// The last ones released: their addresses aren't handles again at once, so that misuse is found.
  std::deque<std::unique_ptr<AllocationRecord>> released_;
  std::uintptr_t last_structure_ = 0;  ///< of the record made last
};

}  // namespace isthmus::emulator
