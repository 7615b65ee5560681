#include "memory/free_ranges.hpp"

#include <iterator>

namespace isthmus::emulator {

void FreeRanges::add(std::uintptr_t base, std::size_t size_bytes) {
  auto range = free_.emplace(base, size_bytes).first;
  const auto next = std::next(range);
  if (next != free_.end() && next->first == base + size_bytes) {
    range->second += next->second;
    free_.erase(next);
  }
  if (range == free_.begin()) return;
  const auto before = std::prev(range);
  if (before->first + before->second != base) return;
  before->second += range->second;
  free_.erase(range);
}

std::optional<std::uintptr_t> FreeRanges::take(std::size_t size_bytes,
                                               std::size_t alignment_bytes) {
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const std::uintptr_t base = (range->first + alignment_bytes - 1) & ~(alignment_bytes - 1);
    const std::size_t skipped_bytes = base - range->first;
    if (skipped_bytes > range->second || size_bytes > range->second - skipped_bytes) continue;
    cut(range, base, size_bytes);
    return base;
  }
  return std::nullopt;
}

bool FreeRanges::take_at(std::uintptr_t base, std::size_t size_bytes) {
  auto range = free_.upper_bound(base);
  if (range == free_.begin()) return false;
  --range;
  const std::size_t skipped_bytes = base - range->first;
  if (skipped_bytes > range->second || size_bytes > range->second - skipped_bytes) return false;
  cut(range, base, size_bytes);
  return true;
}

void FreeRanges::cut(Free::iterator range, std::uintptr_t base, std::size_t size_bytes) {
  const std::uintptr_t end = range->first + range->second;
  if (end > base + size_bytes) free_.emplace(base + size_bytes, end - base - size_bytes);
  if (base > range->first) {
    range->second = base - range->first;
  } else {
    free_.erase(range);
  }
}

}  // namespace isthmus::emulator
