#include "transfer/many/known_ranges.hpp"

#include <algorithm>
#include <utility>

namespace isthmus::transfer {
namespace {

// More than a framework's allocator has open at a time. Searching more takes as long as asking.
constexpr std::size_t kMaxRanges = 32;
// Above this the path of a pinned copy is faster by more than asking takes.
constexpr std::size_t kMaxAssumedBytes = std::size_t{64} << 10U;

}  // namespace

MemoryRange KnownRanges::at(std::uintptr_t address, std::size_t size_bytes, bool pinned_matters) {
  if (const MemoryRange* const known = find(address)) return *known;
  const bool may_assume = last_was_pageable_ && !pinned_matters && size_bytes <= kMaxAssumedBytes &&
                          host_memory_.is_known(reinterpret_cast<const void*>(address), size_bytes);
  if (may_assume) return {};
  const MemoryRange range = range_at(driver_, address);
  if (range.kind == MemoryKind::pageable || range.kind == MemoryKind::pinned)
    last_was_pageable_ = range.kind == MemoryKind::pageable;
  if (range.kind == MemoryKind::pageable || range.size_bytes == 0) return range;
  if (ranges_.size() == kMaxRanges) ranges_.pop_back();
  ranges_.insert(ranges_.begin(), range);
  return range;
}

/// Neighbours in a call mostly lie in the same buffer.
const MemoryRange* KnownRanges::find(std::uintptr_t address) {
  const auto found = std::ranges::find_if(ranges_, [address](const MemoryRange& range) {
    return address - range.base < range.size_bytes;
  });
  if (found == ranges_.end()) return nullptr;
  std::rotate(ranges_.begin(), found, found + 1);
  return &ranges_.front();
}

}  // namespace isthmus::transfer
