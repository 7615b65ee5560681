// The items of an array with gaps on a device, as they cross from and to slots.
#pragma once

#include "transfer/movers/piece_mover.hpp"
#include "transfer/staging/slot_crossing.hpp"

namespace isthmus::transfer {

/// Slots hold the items in C order, without gaps; a kernel moves them.
class ItemCrossing final : public SlotCrossing {
public:
  /// mover       its obstacle() is none; outlives this
  /// layouts     of whole words; outlives this
  /// device      the array's first item
  ItemCrossing(const PieceMover& mover, const Layouts& layouts, const void* device) noexcept
      : mover_(mover), layouts_(layouts), device_(reinterpret_cast<std::uint64_t>(device)) {}

  void enqueue(std::span<const LinkCopy> copies, CUstream stream) const override;

private:
  const PieceMover& mover_;
  const Layouts& layouts_;
  std::uint64_t device_;
};

}  // namespace isthmus::transfer
