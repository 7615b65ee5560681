#include "pages/page_index.hpp"

#include <utility>

namespace isthmus::pages {

namespace {

constexpr std::uint32_t kNoIndex = ~std::uint32_t{0};
constexpr std::uint64_t kNoGroup = ~std::uint64_t{0};
constexpr std::uint32_t kFirstBits = 6;

/// Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): 2^64 over the golden ratio.
constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;

}  // namespace

PageIndex::PageIndex()
    : entries_(std::size_t{1} << kFirstBits, Entry{kNoGroup, kNoIndex}),
      last_group_(kNoGroup),
      hash_shift_(64 - kFirstBits) {}

void PageIndex::look_up(std::uint64_t group) {
  Entry* entry = &entry_of(group);
  if (entry->index == kNoIndex) {
    // At most half full: probes stay short.
    if (2 * (groups_.size() + 1) > entries_.size()) {
      grow();
      entry = &entry_of(group);
    }
    *entry = {group, static_cast<std::uint32_t>(groups_.size())};
    groups_.push_back(group);
  }
  last_group_ = group;
  last_slot_ = entry->index * kGroupPages;
}

PageIndex::Entry& PageIndex::entry_of(std::uint64_t group) {
  const std::size_t mask = entries_.size() - 1;
  std::size_t at = (group * kMultiplier) >> hash_shift_;
  while (entries_[at].index != kNoIndex && entries_[at].group != group) at = (at + 1) & mask;
  return entries_[at];
}

void PageIndex::grow() {
  const std::vector<Entry> old =
      std::exchange(entries_, std::vector<Entry>(entries_.size() * 2, Entry{kNoGroup, kNoIndex}));
  hash_shift_ -= 1;
  for (const Entry& entry : old)
    if (entry.index != kNoIndex) entry_of(entry.group) = entry;
}

}  // namespace isthmus::pages
