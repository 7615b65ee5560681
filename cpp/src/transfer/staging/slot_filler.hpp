// Where the bytes of an upload come from when they aren't in memory yet: a file, for instance.
#pragma once

#include <cstddef>

namespace isthmus::transfer {

/// Of the memory that a filler is given, and beyond the bytes that it was asked for: a file that is
/// read past the page cache is read in whole blocks, from the block before the first byte to the
/// one behind the last. Source: statx(2), stx_dio_offset_align is at most a page.
inline constexpr std::size_t kSlotSlackBytes = std::size_t{2} * 4096;

/// Fills the slots of a staging ring.
class SlotFiller {
public:
  SlotFiller() = default;
  SlotFiller(const SlotFiller&) = delete;
  SlotFiller& operator=(const SlotFiller&) = delete;
  virtual ~SlotFiller() = default;

  /// Puts the source's bytes [offset_bytes, offset_bytes + size_bytes) into a slot. Called by
  /// several threads at once, each with a slot of its own.
  ///
  /// slot        4096-byte aligned, [size_bytes + kSlotSlackBytes]
  /// Returns     where in the slot they begin: < kSlotSlackBytes
  /// Throws      what makes the upload fail.
  virtual std::size_t fill(std::byte* slot, std::size_t offset_bytes,
                           std::size_t size_bytes) const = 0;
};

}  // namespace isthmus::transfer
