// Slots filled from the caller's memory.
#pragma once

#include "transfer/memory_backing.hpp"
#include "transfer/slot_filler.hpp"

namespace isthmus::transfer {

/// Where in a slot the bytes lie that go to or come from a device address, so that both ends of the
/// device's copy are equally aligned.
inline constexpr std::size_t kSlotAlignmentBytes = 64;

/// Memory that stays: it isn't a mapped file's, or nobody knows.
class MemorySource final : public SlotFiller {
public:
  /// target_address  on the device: see kSlotAlignmentBytes
  MemorySource(const std::byte* memory, std::size_t target_address, Backing backing) noexcept
      : memory_(memory), target_address_(target_address), backing_(backing) {}

  /// Throws      UsageError if the kernel tells in time that the last byte can't be read.
  std::size_t fill(std::byte* slot, std::size_t offset_bytes,
                   std::size_t size_bytes) const override;

private:
  const std::byte* memory_;
  std::size_t target_address_;
  Backing backing_;
};

/// A mapped file. Read ahead, and copied so that a file that shrinks is an error, no SIGBUS.
class MappedFileSource final : public SlotFiller {
public:
  MappedFileSource(const std::byte* memory, std::size_t size_bytes,
                   std::size_t target_address) noexcept
      : memory_(memory), size_bytes_(size_bytes), target_address_(target_address) {}

  /// Throws      UsageError if the file is too short.
  std::size_t fill(std::byte* slot, std::size_t offset_bytes,
                   std::size_t size_bytes) const override;

private:
  const std::byte* memory_;
  std::size_t size_bytes_;
  std::size_t target_address_;
};

}  // namespace isthmus::transfer
