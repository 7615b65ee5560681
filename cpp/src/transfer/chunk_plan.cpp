#include "transfer/chunk_plan.hpp"

#include <algorithm>

namespace isthmus::transfer {
namespace {

// One thread's copy from pageable to pinned memory, in parts of what the link carries meanwhile:
// 10 of 55 GB/s on an H200. Source: benchmarks/transfer/README.md.
constexpr std::size_t kThreadsPerLink = 5;

}  // namespace

ChunkPlan::ChunkPlan(std::size_t size_bytes, int num_threads, const ChunkLimits& limits,
                     std::size_t address) noexcept
    : size_bytes_(size_bytes),
      num_threads_(static_cast<std::size_t>(std::max(1, num_threads))),
      limits_(limits),
      address_(address) {}

/// The size of a piece that is so far from an end of the copy.
std::size_t ChunkPlan::ramp(std::size_t distance) const noexcept {
  const std::size_t first_round = limits_.first_bytes + distance / kThreadsPerLink;
  const std::size_t later = limits_.least_bytes + distance / (2 * num_threads_);
  return std::min({first_round, later, limits_.most_bytes});
}

bool ChunkPlan::near_end(std::size_t begin) const noexcept {
  return (size_bytes_ - begin) / (2 * num_threads_) <= limits_.least_bytes;
}

Piece ChunkPlan::piece_at(std::size_t begin) const noexcept {
  const std::size_t rest = size_bytes_ - begin;
  const std::size_t wanted = ramp(std::min(begin, rest - std::min(rest, limits_.first_bytes)));
  // No crumb at the end.
  if (rest <= std::min(wanted + limits_.first_bytes / 2, limits_.most_bytes)) return {begin, rest};
  const std::size_t first = address_ + begin;
  std::size_t end = (first + wanted) / limits_.grain_bytes * limits_.grain_bytes;
  if (end <= first) end += limits_.grain_bytes;
  return {begin, std::min(end - first, rest)};
}

}  // namespace isthmus::transfer
