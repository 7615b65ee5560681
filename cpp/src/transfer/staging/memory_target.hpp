// Copies the slots into the caller's memory.
#pragma once

#include <cstddef>

#include "transfer/pinned/memory_backing.hpp"
#include "transfer/staging/piece_plan.hpp"

namespace isthmus::transfer {

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
