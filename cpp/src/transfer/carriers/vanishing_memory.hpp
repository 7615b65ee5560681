// Copies of a mapped file's memory, by paths that would touch it with the CPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "transfer/plan/bounce_memory.hpp"
#include "transfer/request/task.hpp"

namespace isthmus::transfer {

/// A buffer that such a copy goes through, so that a file that becomes shorter meanwhile is an
/// error and not a SIGBUS.
class VanishingMemoryBuffer {
public:
  /// bounce      of the device at the other end, for pieces that are complete when copy() returns;
  ///             null: none
  explicit VanishingMemoryBuffer(const CopyEnds& ends, BounceMemory* bounce = nullptr);

  /// Copies piece by piece.
  ///
  /// copy        void(const CopyEnds&): copies one piece, complete on return; neither end of the
  ///             piece may vanish
  /// Throws      UsageError if the file has become too short: the message names the undefined bytes
  ///             of the target; also what copy() throws.
  template <typename Copy>
  void copy_through(Copy copy) {
    for (std::size_t done = 0; done < ends_.size_bytes; done += piece_bytes_) {
      const std::size_t size_bytes = std::min(piece_bytes_, ends_.size_bytes - done);
      CopyEnds piece = part_of(ends_, done, size_bytes);
      piece.target_may_vanish = piece.source_may_vanish = piece.spans_registrations = false;
      if (ends_.source_may_vanish) {
        piece.source = fetched(done, size_bytes);
        piece.source_kind = kind();
      }
      if (ends_.target_may_vanish) {
        piece.target = target();
        piece.target_kind = kind();
      }
      try {
        copy(piece);
      } catch (...) {
        leave_if_in_use();
        throw;
      }
      if (ends_.target_may_vanish) store(done, size_bytes);
    }
  }

private:
  const std::byte* fetched(std::size_t offset_bytes, std::size_t size_bytes);
  /// Called while the exception of copy() is handled.
  void leave_if_in_use() noexcept;
  void store(std::size_t offset_bytes, std::size_t size_bytes);

  MemoryKind kind() const noexcept { return held_ ? MemoryKind::pinned : MemoryKind::pageable; }
  std::byte* source() const noexcept { return held_ ? held_.data() : source_.get(); }
  std::byte* target() const noexcept { return held_ ? held_.data() : target_.get(); }

  const CopyEnds& ends_;
  std::size_t piece_bytes_;
  BounceMemory::Hold held_;
  std::unique_ptr<std::byte[]> source_;
  std::unique_ptr<std::byte[]> target_;
};

/// Copies through such a buffer if an end may vanish, else directly.
template <typename Copy>
void copy_unless_vanishing(const CopyEnds& ends, Copy copy, BounceMemory* bounce = nullptr) {
  if (!ends.may_vanish()) return copy(ends);
  VanishingMemoryBuffer(ends, bounce).copy_through(copy);
}

}  // namespace isthmus::transfer
