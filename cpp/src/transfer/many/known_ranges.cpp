#include "transfer/many/known_ranges.hpp"

#include <algorithm>

namespace isthmus::transfer {
namespace {

// More than a framework's allocator has open at a time. Of more, only the last of each end is known.
constexpr std::size_t kMaxRanges = 64;
constexpr std::size_t kFewRanges = 8;  // more memory at once takes the heap longer

bool contains(const MemoryRange& range, std::uintptr_t address) noexcept {
  return address - range.base < range.size_bytes;
}

}  // namespace

MemoryRange KnownRanges::at(End end, std::uintptr_t address, std::size_t size_bytes,
                            bool pinned_matters) {
  MemoryRange& last = last_[static_cast<std::size_t>(end)];
  if (contains(last, address)) return last;
  if (const MemoryRange* const known = find(address)) return last = *known;
  // Of more bytes, the path of a pinned copy is faster by more than asking takes.
  const bool may_assume = last_was_pageable_ && !pinned_matters &&
                          size_bytes <= std::size_t{64} << 10U &&
                          host_memory_.is_known(reinterpret_cast<const void*>(address), size_bytes);
  if (may_assume) return {.touchable = true};
  const MemoryRange range = range_at(driver_, address);
  if (range.kind == MemoryKind::pageable || range.kind == MemoryKind::pinned)
    last_was_pageable_ = range.kind == MemoryKind::pageable;
  if (range.kind == MemoryKind::pageable || range.size_bytes == 0) return range;
  keep(range);
  return last = range;
}

const MemoryRange* KnownRanges::find(std::uintptr_t address) const {
  const auto after = std::ranges::upper_bound(ranges_, address, {}, &MemoryRange::base);
  if (after == ranges_.begin() || !contains(*(after - 1), address)) return nullptr;
  return &*(after - 1);
}

void KnownRanges::keep(const MemoryRange& range) {
  if (ranges_.size() == kMaxRanges) return;
  if (ranges_.empty()) ranges_.reserve(kFewRanges);
  ranges_.insert(std::ranges::upper_bound(ranges_, range.base, {}, &MemoryRange::base), range);
}

}  // namespace isthmus::transfer
