// How a copy is cut: into pieces that cross the link one after the other, and each piece into parts
// that threads copy concurrently.
#pragma once

#include <cstddef>
#include <vector>

namespace isthmus::transfer {

/// Some bytes of a copy.
struct Piece {
  std::size_t begin = 0;
  std::size_t size_bytes = 0;
};

/// All at least 1; growth more than 1.
struct PlanLimits {
  std::size_t first_bytes = 1;     ///< of the first piece; at least grain_bytes
  std::size_t last_bytes = 1;      ///< below which pieces don't shrink; at least grain_bytes
  std::size_t max_bytes = 1;       ///< of any piece; at least first_bytes and last_bytes
  std::size_t min_part_bytes = 1;  ///< except for the remainder
  std::size_t max_part_bytes = 1;  ///< at least min_part_bytes; the grain may increase it
  std::size_t grain_bytes = 1;  ///< pieces and parts end at multiples, as addresses; a power of two
  double growth = 2;            ///< factor between pieces, from the beginning on and backwards from
                                ///< the end
};

/// One piece of a plan.
struct PlannedPiece {
  Piece bytes;
  std::size_t first_part = 0;  ///< parts are numbered over the whole copy
  std::size_t num_parts = 0;
  std::size_t part_bytes = 0;  ///< a multiple of the grain
};

/// Cuts a copy into few pieces, because each has its cost, such that the link waits only for the
/// first.
///
/// The first piece of an upload is small, because nothing crosses while it is copied. All threads
/// together copy faster than the link by some factor; each piece may be longer than the one before
/// by this factor without making the link wait. The end of a download is the same backwards: while
/// the last piece is copied, nothing crosses any more. Source:
/// benchmarks/transfer/h100/ring_growth.json.
class PiecePlan {
public:
  /// address     of the copy's first byte, for the grain
  PiecePlan(std::size_t size_bytes, int num_threads, const PlanLimits& limits,
            std::size_t address = 0);

  const std::vector<PlannedPiece>& pieces() const noexcept { return pieces_; }
  std::size_t num_parts() const noexcept;
  /// part        its number in the whole copy; it belongs to the piece
  Piece part(const PlannedPiece& piece, std::size_t part) const noexcept;

  std::size_t size_bytes() const noexcept { return size_bytes_; }

private:
  std::size_t cut(std::size_t begin, std::size_t wanted_bytes) const noexcept;
  void add(const Piece& bytes);
  std::size_t bytes_past_grain(const Piece& bytes) const noexcept;

  std::size_t size_bytes_;
  std::size_t num_threads_;
  PlanLimits limits_;
  std::size_t address_;
  std::vector<PlannedPiece> pieces_;
};

}  // namespace isthmus::transfer
