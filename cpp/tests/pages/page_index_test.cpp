// Page numbers to slots, wherever the pages are and however many.
#include "pages/page_index.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace isthmus::pages {
namespace {

constexpr std::uint64_t kRegionPages =
    std::uint64_t{PageIndex::kGroupPages} * PageIndex::kRegionGroups;

/// First and last pages of groups and regions: near, far apart, and at the ends of the address
/// space.
std::vector<std::uint64_t> scattered_pages() {
  std::vector<std::uint64_t> pages;
  for (std::uint64_t region = 0; region < 300; ++region) {
    const std::uint64_t first = region * region * 977 * kRegionPages;
    for (const std::uint64_t offset :
         {std::uint64_t{0}, std::uint64_t{PageIndex::kGroupPages - 1},
          std::uint64_t{PageIndex::kGroupPages}, kRegionPages / 2 + 7, kRegionPages - 1}) {
      pages.push_back(first + offset);
    }
  }
  pages.push_back((~std::uint64_t{0} >> 12U) - 1);
  return pages;
}

TEST(PageIndex, GivesEveryPageASlotOfItsOwnThatStays) {
  PageIndex index;
  const std::vector<std::uint64_t> pages = scattered_pages();
  std::vector<std::uint32_t> slots;
  for (const std::uint64_t page : pages) slots.push_back(index.slot_of(page));
  EXPECT_EQ(std::set<std::uint32_t>(slots.begin(), slots.end()).size(), pages.size());
  for (std::size_t i = pages.size(); i-- > 0;) {
    ASSERT_EQ(index.slot_of(pages[i]), slots[i]) << "page " << pages[i];
    ASSERT_EQ(index.page_number(slots[i]), pages[i]);
    ASSERT_LT(slots[i], index.num_slots());
  }
}

TEST(PageIndex, PutsNeighboursSideBySideAndMakesAsFewGroupsAsItCan) {
  PageIndex index;
  const std::uint32_t first = index.slot_of(5 * PageIndex::kGroupPages);
  for (std::uint32_t offset = 0; offset < PageIndex::kGroupPages; ++offset) {
    ASSERT_EQ(index.slot_of(5 * PageIndex::kGroupPages + offset), first + offset);
  }
  EXPECT_EQ(index.num_slots(), PageIndex::kGroupPages);
  index.slot_of(0);
  EXPECT_EQ(index.num_slots(), 2 * PageIndex::kGroupPages);
}

}  // namespace
}  // namespace isthmus::pages
