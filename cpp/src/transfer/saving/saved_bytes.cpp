#include "transfer/saving/saved_bytes.hpp"

#include <algorithm>
#include <utility>

namespace isthmus::transfer {

SavedBytes::SavedBytes(std::vector<SavedRange> ranges) : ranges_(std::move(ranges)) {
  std::size_t end = 0;
  ends_.reserve(ranges_.size());
  for (const SavedRange& range : ranges_) ends_.push_back(end += range.size_bytes);
}

std::vector<SavedSegment> SavedBytes::segments(std::size_t begin, std::size_t size_bytes) const {
  std::vector<SavedSegment> found;
  const std::size_t end = begin + size_bytes;
  auto index = static_cast<std::size_t>(std::ranges::upper_bound(ends_, begin) - ends_.begin());
  for (std::size_t at = begin; at < end; ++index) {
    const SavedRange& range = ranges_[index];
    const std::size_t first = ends_[index] - range.size_bytes;
    const std::size_t count = std::min(end, ends_[index]) - at;
    if (count > 0) found.push_back({&range, range.memory + (at - first), count, at - begin});
    at += count;
  }
  return found;
}

}  // namespace isthmus::transfer
