#include "transfer/staging/piece_plan.hpp"

#include <algorithm>

namespace isthmus::transfer {
namespace {

std::size_t times(double factor, std::size_t size_bytes) {
  return static_cast<std::size_t>(factor * static_cast<double>(size_bytes));
}

}  // namespace

PiecePlan::PiecePlan(std::size_t size_bytes, int num_threads, const PlanLimits& limits,
                     std::size_t address)
    : size_bytes_(size_bytes),
      num_threads_(static_cast<std::size_t>(std::max(1, num_threads))),
      limits_(limits),
      address_(address) {
  std::size_t growing = limits.first_bytes;
  // If each piece of the rest is shorter by `growth` than the one before: the first one's share.
  const double share = 1 - 1 / limits.growth;
  for (std::size_t begin = 0; begin < size_bytes;) {
    const std::size_t shrinking = std::max(limits.last_bytes, times(share, size_bytes - begin));
    add({begin, cut(begin, std::min({growing, shrinking, limits.max_bytes}))});
    begin += pieces_.back().bytes.size_bytes;
    growing = std::min(times(limits.growth, growing) + 1, limits.max_bytes);
  }
}

/// The size of a piece of about `wanted_bytes`.
std::size_t PiecePlan::cut(std::size_t begin, std::size_t wanted_bytes) const noexcept {
  const std::size_t rest = size_bytes_ - begin;
  // Leave no tiny piece at the end.
  if (rest <= std::min(wanted_bytes + wanted_bytes / 4, limits_.max_bytes)) return rest;
  const std::size_t first = address_ + begin;
  std::size_t end = (first + wanted_bytes) / limits_.grain_bytes * limits_.grain_bytes;
  if (end <= first) end += limits_.grain_bytes;
  return std::min(end - first, rest);
}

std::size_t PiecePlan::bytes_past_grain(const Piece& bytes) const noexcept {
  return (address_ + bytes.begin) % limits_.grain_bytes;
}

void PiecePlan::add(const Piece& bytes) {
  const std::size_t share =
      std::clamp(bytes.size_bytes / num_threads_, limits_.min_part_bytes, limits_.max_part_bytes);
  const std::size_t grain = limits_.grain_bytes;
  PlannedPiece piece{bytes, num_parts(), 0, std::max(grain, share / grain * grain)};
  piece.num_parts =
      (bytes_past_grain(bytes) + bytes.size_bytes + piece.part_bytes - 1) / piece.part_bytes;
  pieces_.push_back(piece);
}

std::size_t PiecePlan::num_parts() const noexcept {
  return pieces_.empty() ? 0 : pieces_.back().first_part + pieces_.back().num_parts;
}

Piece PiecePlan::part(const PlannedPiece& piece, std::size_t part) const noexcept {
  // Counted from the grain boundary before the piece.
  const std::size_t past = bytes_past_grain(piece.bytes);
  const std::size_t first = (part - piece.first_part) * piece.part_bytes;
  const std::size_t begin = std::max(first, past) - past;
  const std::size_t end = std::min(first + piece.part_bytes - past, piece.bytes.size_bytes);
  return {piece.bytes.begin + begin, end - begin};
}

}  // namespace isthmus::transfer
