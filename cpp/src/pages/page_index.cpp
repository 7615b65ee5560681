#include "pages/page_index.hpp"

#include <utility>

namespace isthmus::pages {

namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};
constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};
constexpr std::uint32_t kFirstBits = 6;
/// The table is this many times larger than its contents, so that the first probe usually hits.
constexpr std::size_t kEmptyTimes = 8;

/// Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): 2^64 over the golden ratio.
constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;

}  // namespace

PageIndex::PageIndex()
    : regions_(std::size_t{1} << kFirstBits, Region{kNoNumber, kNone}),
      last_group_(kNoNumber),
      hash_shift_(64 - kFirstBits) {}

void PageIndex::look_up(std::uint64_t group) {
  const std::uint32_t at = first_of(group / kRegionGroups) + group % kRegionGroups;
  if (indices_[at] == kNone) {
    indices_[at] = static_cast<std::uint32_t>(groups_.size());
    groups_.push_back(group);
  }
  last_group_ = group;
  last_slot_ = indices_[at] * kGroupPages;
}

std::uint32_t PageIndex::first_of(std::uint64_t region) {
  Region* entry = &entry_of(region);
  if (entry->first == kNone) {
    const auto first = static_cast<std::uint32_t>(indices_.size());
    if (kEmptyTimes * (first / kRegionGroups + 1) > regions_.size()) {
      grow();
      entry = &entry_of(region);
    }
    *entry = {region, first};
    indices_.resize(indices_.size() + kRegionGroups, kNone);
  }
  return entry->first;
}

PageIndex::Region& PageIndex::entry_of(std::uint64_t region) {
  const std::size_t mask = regions_.size() - 1;
  std::size_t at = (region * kMultiplier) >> hash_shift_;
  while (regions_[at].first != kNone && regions_[at].number != region) at = (at + 1) & mask;
  return regions_[at];
}

void PageIndex::grow() {
  const std::vector<Region> old =
      std::exchange(regions_, std::vector<Region>(regions_.size() * 2, Region{kNoNumber, kNone}));
  hash_shift_ -= 1;
  for (const Region& entry : old)
    if (entry.first != kNone) entry_of(entry.number) = entry;
}

}  // namespace isthmus::pages
