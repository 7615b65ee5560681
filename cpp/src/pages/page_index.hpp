// Page numbers to slots: neighbours lie together, pages never asked for cost nothing.
#pragma once

#include <cstdint>
#include <vector>

namespace isthmus::pages {

/// Slots of pages in groups of neighbours, found in two steps: a hash table of regions, which is
/// small enough for the nearest cache, and an array of each region's groups. A page in the group
/// of the one before takes a comparison.
///
/// Steps, since a hash table of all groups has to guess whether the first probe is the last: a
/// wrong guess is found out only when a line has come from far away, and so far nothing else can go
/// on.
class PageIndex {
public:
  /// Slots come in groups of so many pages.
  static constexpr std::uint32_t kGroupPages = 512;
  /// For 100 GB of 4 KiB pages: 94 regions, whose arrays take 190 KiB.
  static constexpr std::uint32_t kRegionGroups = 512;

  PageIndex();

  /// The page's slot. A group is made if there is none: num_slots() grows.
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
    std::uint32_t first;  ///< of its groups in indices_
  };

  void look_up(std::uint64_t group);
  std::uint32_t first_of(std::uint64_t region);
  Region& entry_of(std::uint64_t region);
  void grow();

  std::vector<Region> regions_;         ///< by hash
  std::vector<std::uint32_t> indices_;  ///< into groups_, by region and place in it
  std::vector<std::uint64_t> groups_;   ///< by index
  std::uint64_t last_group_;
  std::uint32_t last_slot_ = 0;
  std::uint32_t hash_shift_;
};

}  // namespace isthmus::pages
