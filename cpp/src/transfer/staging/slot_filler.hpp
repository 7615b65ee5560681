// A source of an upload whose bytes aren't in memory yet, such as a file.
#pragma once

#include <cstddef>

#include "host/memory/pages.hpp"

namespace isthmus::transfer {

/// Additional bytes of the memory that a filler is given: a read past the page cache reads whole
/// blocks, from the block with the first byte to the block after the last. Source: statx(2),
/// stx_dio_offset_align is at most a page.
inline constexpr std::size_t kSlotSlackBytes = 2 * host::kSmallPageBytes;

/// Fills the slots of a staging ring.
class SlotFiller {
public:
  SlotFiller() = default;
  SlotFiller(const SlotFiller&) = delete;
  SlotFiller& operator=(const SlotFiller&) = delete;
  virtual ~SlotFiller() = default;

  /// Puts the source's bytes [offset_bytes, offset_bytes + size_bytes) into a slot. Called by
  /// several threads at once, each with its own slot.
  ///
  /// slot        aligned to host::kSmallPageBytes, [size_bytes + kSlotSlackBytes]
  /// Returns     the bytes' offset in the slot: < kSlotSlackBytes
  /// Throws      what makes the upload fail.
  virtual std::size_t fill(std::byte* slot, std::size_t offset_bytes,
                           std::size_t size_bytes) const = 0;
};

}  // namespace isthmus::transfer
