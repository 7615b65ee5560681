// How a copy is cut into the pieces that threads take.
#pragma once

#include <cstddef>

namespace isthmus::transfer {

/// Some bytes of a copy.
struct Piece {
  std::size_t begin = 0;
  std::size_t size_bytes = 0;
};

struct ChunkLimits {
  std::size_t first_bytes = 1;  ///< at least grain_bytes
  std::size_t least_bytes = 1;  ///< at least first_bytes
  std::size_t most_bytes = 1;   ///< at least least_bytes
  std::size_t grain_bytes = 1;  ///< pieces end at multiples of it, as addresses; a power of two
};

/// Cuts a copy so that the link is never idle, and of few pieces, since each has its cost.
///
/// The first piece of an upload is small, since a thread copies it before the link has anything to
/// do. The next are copied at the same time and cross one after the other: each may be longer by
/// what its thread copies meanwhile, a fifth of what crosses. After those, threads have done so
/// much each, and pieces may grow only by what all threads together copy faster than the link
/// carries. The end of a download is the same backwards, and the end of an upload lets all threads
/// end together.
///
/// A pure function of where a piece begins, so that threads need to share only that number.
class ChunkPlan {
public:
  /// address     of the copy's first byte, for the grain
  ChunkPlan(std::size_t size_bytes, int num_threads, const ChunkLimits& limits,
            std::size_t address = 0) noexcept;

  /// begin       < size_bytes, and where another piece ends, or 0
  /// Returns     a piece of 1 to most_bytes that ends within the copy.
  Piece piece_at(std::size_t begin) const noexcept;
  /// True where what is left is cut into the smallest pieces.
  bool near_end(std::size_t begin) const noexcept;

  std::size_t size_bytes() const noexcept { return size_bytes_; }

private:
  std::size_t ramp(std::size_t distance) const noexcept;

  std::size_t size_bytes_;
  std::size_t num_threads_;
  ChunkLimits limits_;
  std::size_t address_;
};

}  // namespace isthmus::transfer
