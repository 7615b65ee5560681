// Maps page numbers to slots: neighbours are adjacent, and pages that were never requested cost
// nothing.
#pragma once

#include <cstdint>
#include <vector>

namespace isthmus::pages {

/// Slots of pages in groups of neighbours, found in two steps: a hash table of regions, small
/// enough for the L1 cache, and an array of each region's groups. A page in the same group as the
/// previous one takes one comparison.
///
/// There are two steps because in one hash table of all groups the branch after the first probe is
/// predicted before its cache line arrives: a misprediction costs a whole memory access.
class PageIndex {
public:
  /// A group has slots for this many pages.
  static constexpr std::uint32_t kGroupPages = 512;
  /// 100 GB in 4 KiB pages are 94 regions, whose arrays take 190 KiB.
  static constexpr std::uint32_t kRegionGroups = 512;

  PageIndex();

  /// The page's slot. Creates its group if there is none: num_slots() grows.
  std::uint32_t slot_of(std::uint64_t page_number) {
    const std::uint64_t group = page_number / kGroupPages;
    if (group != last_group_) look_up(group);
    return last_slot_ + static_cast<std::uint32_t>(page_number % kGroupPages);
  }

  std::uint64_t page_number(std::uint32_t slot) const {
    return groups_[slot / kGroupPages] * kGroupPages + slot % kGroupPages;
  }

  std::uint32_t num_slots() const {
    return static_cast<std::uint32_t>(groups_.size()) * kGroupPages;
  }

private:
  struct Region {
    std::uint64_t number;
    std::uint32_t first;  ///< the first of its groups in indices_
  };

  void look_up(std::uint64_t group);
  std::uint32_t first_of(std::uint64_t region);
  Region& entry_of(std::uint64_t region);
  void grow();

  std::vector<Region> regions_;         ///< by hash
  std::vector<std::uint32_t> indices_;  ///< into groups_, by region and position in it
  std::vector<std::uint64_t> groups_;   ///< by index
  std::uint64_t last_group_;
  std::uint32_t last_slot_ = 0;
  std::uint32_t hash_shift_;
};

}  // namespace isthmus::pages
