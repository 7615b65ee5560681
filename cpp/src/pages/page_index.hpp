// Page numbers to slots: neighbours lie together, pages never asked for cost nothing.
#pragma once

#include <cstdint>
#include <vector>

namespace isthmus::pages {

/// A hash table of groups of neighbouring pages: a look-up in the group of the one before takes a
/// comparison, any other one a multiplication and, mostly, one probe.
class PageIndex {
public:
  /// Slots come in groups of so many: for 100 GB of 4 KiB pages the table of groups fits a cache.
  static constexpr std::uint32_t kGroupPages = 512;

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
  struct Entry {
    std::uint64_t group;
    std::uint32_t index;
  };

  void look_up(std::uint64_t group);
  Entry& entry_of(std::uint64_t group);
  void grow();

  std::vector<Entry> entries_;
  std::vector<std::uint64_t> groups_;  ///< by index
  std::uint64_t last_group_;
  std::uint32_t last_slot_ = 0;
  std::uint32_t hash_shift_;
};

}  // namespace isthmus::pages
