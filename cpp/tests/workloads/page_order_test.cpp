// The random order of pages that a kernel and the simulator share: kernels/page_order.cuh.
#include "page_order.cuh"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace isthmus::workloads {
namespace {

// The sizes that the bench reads: 1, 16, 128 and 512 MiB.
constexpr std::uint64_t kBenchPages[] = {256, 4096, 32768, 131072};

std::vector<std::uint64_t> pages_in_order(std::uint64_t num_pages) {
  const IsthmusPageOrder order = isthmus_page_order(num_pages);
  std::vector<std::uint64_t> pages(num_pages);
  for (std::uint64_t turn = 0; turn < num_pages; ++turn)
    pages[turn] = isthmus_page_of_turn(order, turn);
  return pages;
}

void expect_each_page_once(std::uint64_t num_pages) {
  std::vector<bool> seen(num_pages);
  for (const std::uint64_t page : pages_in_order(num_pages)) {
    ASSERT_LT(page, num_pages);
    ASSERT_FALSE(seen[page]) << page << " of " << num_pages << " comes twice";
    seen[page] = true;
  }
}

double distance(std::uint64_t one, std::uint64_t other) {
  return static_cast<double>(one > other ? one - other : other - one);
}

TEST(PageOrder, HasEachPageOnce) {
  for (std::uint64_t num_pages = 1; num_pages <= 600; ++num_pages) expect_each_page_once(num_pages);
  for (const std::uint64_t num_pages : kBenchPages) {
    expect_each_page_once(num_pages);
    expect_each_page_once(num_pages + 1);
  }
}

// Of pages that are drawn at random the mean distance is a third of all. The order is fixed, and so
// are these numbers: 0.95 to 1.06 of a third.
TEST(PageOrder, PutsNeighboursInTimeAsFarApartAsChanceDoes) {
  for (const std::uint64_t num_pages : kBenchPages) {
    const std::vector<std::uint64_t> pages = pages_in_order(num_pages);
    for (const std::size_t turns : {1U, 2U, 3U, 8U}) {
      double sum = 0;
      for (std::size_t at = turns; at < pages.size(); ++at)
        sum += distance(pages[at], pages[at - turns]);
      const double mean = sum / static_cast<double>(pages.size() - turns);
      EXPECT_NEAR(mean * 3 / static_cast<double>(num_pages), 1.0, 0.07)
          << turns << " turns apart, of " << num_pages << " pages";
    }
  }
}

// A driver widens a fault to 64 KiB. Chance puts 32 of all pages so near.
TEST(PageOrder, RarelyPutsNeighboursInTimeWithin64KiB) {
  for (const std::uint64_t num_pages : kBenchPages) {
    const std::vector<std::uint64_t> pages = pages_in_order(num_pages);
    std::uint64_t num_near = 0;
    for (std::size_t at = 1; at < pages.size(); ++at)
      num_near += distance(pages[at], pages[at - 1]) <= 16;
    const double by_chance = 32.0 / static_cast<double>(num_pages);
    EXPECT_LT(static_cast<double>(num_near) / static_cast<double>(num_pages), 1.25 * by_chance)
        << num_pages;
  }
}

}  // namespace
}  // namespace isthmus::workloads
