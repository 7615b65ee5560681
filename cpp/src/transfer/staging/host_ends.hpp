// The host's ends of staged copies: what slots are filled from, and where their bytes go.
#pragma once

#include <cstddef>

#include "transfer/pinned/memory_backing.hpp"
#include "transfer/staging/host_copy.hpp"
#include "transfer/staging/piece_plan.hpp"

namespace isthmus::transfer {

/// A source of which threads that fill a slot together request any part.
class PartSource {
public:
  PartSource() = default;
  PartSource(const PartSource&) = delete;
  PartSource& operator=(const PartSource&) = delete;
  virtual ~PartSource() = default;

  /// Puts the source's bytes [offset_bytes, offset_bytes + size_bytes) at `place`. Called by
  /// several threads at once. When it returns, the device may read them.
  ///
  /// Throws      what makes the upload fail.
  virtual void fill(std::byte* place, std::size_t offset_bytes, std::size_t size_bytes) const = 0;
};

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

struct TargetSizes {
  std::size_t min_streamed_bytes;  ///< from this size on, memory is stored past the caches
  std::size_t min_huge_bytes;      ///< from this size on, fresh memory gets huge pages
};

/// The host's end of a download.
class MemoryTarget {
public:
  /// Checks a few pages; may ask for huge ones if they don't exist yet.
  MemoryTarget(std::byte* memory, std::size_t size_bytes, const TargetSizes& sizes,
               Backing backing) noexcept;
  /// One of the targets of a list, too short for huge pages: the threads of the copy check it.
  MemoryTarget(std::byte* memory, std::size_t size_bytes, bool streamed,
               const MemoryBacking& asking) noexcept
      : memory_(memory),
        streamed_(streamed),
        backing_(asking, memory, size_bytes),
        fresh_(true),
        huge_(false) {}

  /// True if it had few pages or none.
  bool fresh() const noexcept { return fresh_; }

  /// The alignment of the ends of parts, as addresses: whole huge pages if there will be any, so
  /// that no two threads fault the same one.
  std::size_t grain_bytes() const noexcept;

  /// Faults in the pages of a part. This and the following may be called by several threads at
  /// once.
  void make_pages(const Piece& part) const noexcept;
  /// Copies a part to its place.
  ///
  /// Throws      UsageError if the memory is a mapped file's, and the file is too short.
  void store(const Piece& part, const std::byte* source) const;

private:
  std::byte* memory_;
  bool streamed_;
  LateBacking backing_;
  bool fresh_;
  bool huge_;
};

}  // namespace isthmus::transfer
