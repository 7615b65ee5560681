// Slots emptied into the caller's memory.
#pragma once

#include <cstddef>

#include "transfer/pinned/memory_backing.hpp"
#include "transfer/staging/piece_plan.hpp"

namespace isthmus::transfer {

struct TargetSizes {
  std::size_t min_streamed_bytes;  ///< of memory that is stored past the caches
  std::size_t min_huge_bytes;      ///< of fresh memory, from which it gets huge pages
};

/// The host's end of a download.
class MemoryTarget {
public:
  /// Looks at a few pages; may ask for huge ones if they aren't there yet.
  MemoryTarget(std::byte* memory, std::size_t size_bytes, const TargetSizes& sizes,
               Backing backing) noexcept;

  /// True if it had few pages or none.
  bool fresh() const noexcept { return fresh_; }

  /// What the ends of parts shall be multiples of, as addresses: whole huge pages where there will
  /// be, so that no two threads make the same one.
  std::size_t grain_bytes() const noexcept;

  /// Makes the pages of a part. May be called by several threads at once, as all that follows.
  void make_pages(const Piece& part) const noexcept;
  /// Copies a part to where it belongs.
  ///
  /// Throws      UsageError if the memory is a mapped file's, and that is too short.
  void store(const Piece& part, const std::byte* source) const;

private:
  std::byte* memory_;
  bool streamed_;
  Backing backing_;
  bool fresh_;
  bool huge_;
};

}  // namespace isthmus::transfer
