// What a handle of cuMemCreate points to.
#pragma once

#include <array>
#include <cstdint>

namespace isthmus::emulator {

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

}  // namespace isthmus::emulator
