#include "pages/unit_bitmap.hpp"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

namespace isthmus::pages {
namespace {

using Runs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Runs runs_of(const std::vector<std::uint64_t>& words, std::uint32_t first, std::uint32_t end) {
  Runs runs;
  for_each_run(
      first, end, [&](std::uint32_t index) { return words[index]; },
      [&](std::uint32_t begin, std::uint32_t past) { runs.emplace_back(begin, past); });
  return runs;
}

TEST(UnitBitmap, FindsARunThatCrossesWords) {
  EXPECT_EQ(runs_of({~0ULL << 60, ~0ULL, 0x3}, 0, 192), (Runs{{60, 130}}));
}

TEST(UnitBitmap, FindsRunsOnlyInTheBitsAskedFor) {
  EXPECT_EQ(runs_of({~0ULL, ~0ULL}, 3, 70), (Runs{{3, 70}}));
  EXPECT_EQ(runs_of({~0ULL, ~0ULL}, 64, 128), (Runs{{64, 128}}));
  EXPECT_EQ(runs_of({~0ULL, ~0ULL}, 5, 5), Runs{});
}

TEST(UnitBitmap, EndsARunAtTheEndOfAWord) {
  EXPECT_EQ(runs_of({1ULL << 63, 0x2}, 0, 128), (Runs{{63, 64}, {65, 66}}));
}

TEST(UnitBitmap, FindsEverySingleBit) {
  EXPECT_EQ(runs_of({0x8000000000000001ULL | 1ULL << 7}, 0, 64), (Runs{{0, 1}, {7, 8}, {63, 64}}));
}

TEST(UnitBitmap, SaysHowManyBitsChange) {
  std::array<std::uint64_t, 3> words{};
  UnitBitmap bitmap(words.data());
  EXPECT_EQ(bitmap.set(10, 100), 90U);
  EXPECT_EQ(bitmap.set(50, 130), 30U);
  EXPECT_EQ(bitmap.clear(0, 20), 10U);
  EXPECT_EQ(bitmap.count(0, 192), 110U);
  EXPECT_TRUE(bitmap.all(20, 130));
  EXPECT_FALSE(bitmap.all(19, 130));
  EXPECT_FALSE(bitmap.all(20, 131));
}

TEST(UnitBitmap, AgreesWithBitsOneByOne) {
  std::uint64_t state = 1;
  const auto random = [&] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return state >> 33;
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::uint64_t> words(4);
    for (std::uint64_t& word : words) word = random() % 4 == 0 ? ~0ULL : random() * random();
    const auto first = static_cast<std::uint32_t>(random() % 256);
    const auto end = first + static_cast<std::uint32_t>(random() % (257 - first));
    Runs expected;
    for (std::uint32_t bit = first; bit < end; ++bit) {
      if ((words[bit / 64] >> (bit % 64) & 1) == 0) continue;
      if (expected.empty() || expected.back().second != bit) expected.emplace_back(bit, bit);
      expected.back().second = bit + 1;
    }
    ASSERT_EQ(runs_of(words, first, end), expected) << "round " << round;
  }
}

}  // namespace
}  // namespace isthmus::pages
