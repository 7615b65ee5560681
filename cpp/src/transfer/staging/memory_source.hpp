// Slots filled from the caller's memory.
#pragma once

#include "transfer/pinned/memory_backing.hpp"
#include "transfer/staging/host_copy.hpp"
#include "transfer/staging/part_source.hpp"

namespace isthmus::transfer {

/// Memory that can't vanish: it isn't a mapped file, or that is unknown.
class MemorySource final : public PartSource {
public:
  /// begin       how much of the copy comes before this memory
  MemorySource(const std::byte* memory, Backing backing, const SlotFilling& filling,
               std::size_t begin = 0) noexcept
      : memory_(memory), backing_(backing), filling_(filling), begin_(begin) {}

  /// Throws      UsageError if the kernel says in time that the last byte can't be read.
  void fill(std::byte* place, std::size_t offset_bytes, std::size_t size_bytes) const override;

private:
  const std::byte* memory_;
  Backing backing_;
  SlotFilling filling_;
  std::size_t begin_;
};

/// A mapped file. Read ahead, and copied so that a file that shrinks is an error and not a SIGBUS.
class MappedFileSource final : public PartSource {
public:
  MappedFileSource(const std::byte* memory, std::size_t size_bytes) noexcept
      : memory_(memory), size_bytes_(size_bytes) {}

  /// Throws      UsageError if the file is too short.
  void fill(std::byte* place, std::size_t offset_bytes, std::size_t size_bytes) const override;

private:
  const std::byte* memory_;
  std::size_t size_bytes_;
};

/// One of the sources of a list: what its memory is, its threads find out.
class ListedSource final : public PartSource {
public:
  /// begin       how much of the list comes before this memory
  ListedSource(const std::byte* memory, std::size_t size_bytes, const MemoryBacking& asking,
               const SlotFilling& filling, std::size_t begin) noexcept
      : memory_(memory),
        size_bytes_(size_bytes),
        backing_(asking, memory, size_bytes),
        filling_(filling),
        begin_(begin) {}

  /// Throws      as MemorySource or MappedFileSource.
  void fill(std::byte* place, std::size_t offset_bytes, std::size_t size_bytes) const override;

private:
  const std::byte* memory_;
  std::size_t size_bytes_;
  LateBacking backing_;
  SlotFilling filling_;
  std::size_t begin_;
};

}  // namespace isthmus::transfer
