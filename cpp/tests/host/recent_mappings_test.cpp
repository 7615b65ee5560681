// How long an earlier answer about a mapping is reused.
#include "host/memory/memory_map.hpp"

#include <gtest/gtest.h>

namespace isthmus::host {
namespace {

Mapping ordinary(std::uintptr_t begin, std::uintptr_t end) {
  return {begin, end, true, true, false, false};
}

TEST(RecentMappingsTest, KnowAWholeMappingInTheTickInWhichItWasRemembered) {
  RecentMappings recent;
  EXPECT_FALSE(recent.is_ordinary(0x1000, 1));
  recent.remember(ordinary(0x1000, 0x3000), 1);
  EXPECT_EQ(recent.is_ordinary(0x1000, 1), true);
  EXPECT_EQ(recent.is_ordinary(0x2fff, 1), true);
  EXPECT_FALSE(recent.is_ordinary(0xfff, 1));
  EXPECT_FALSE(recent.is_ordinary(0x3000, 1));
  EXPECT_FALSE(recent.is_ordinary(0x1000, 2));
}

TEST(RecentMappingsTest, RememberMappingsThatAreNotOrdinaryToo) {
  RecentMappings recent;
  Mapping file = ordinary(0x1000, 0x3000);
  file.has_file = true;
  recent.remember(file, 1);
  EXPECT_EQ(recent.is_ordinary(0x1000, 1), false);
}

TEST(RecentMappingsTest, ForgetAllOfAnEarlierTick) {
  RecentMappings recent;
  recent.remember(ordinary(0x1000, 0x2000), 1);
  recent.remember(ordinary(0x5000, 0x6000), 2);
  EXPECT_FALSE(recent.is_ordinary(0x1000, 2));
  EXPECT_EQ(recent.is_ordinary(0x5000, 2), true);
  recent.forget();
  EXPECT_FALSE(recent.is_ordinary(0x5000, 2));
}

TEST(RecentMappingsTest, KeepTheLatestEight) {
  RecentMappings recent;
  for (std::uintptr_t i = 1; i <= 9; ++i)
    recent.remember(ordinary(i * 0x1000, (i + 1) * 0x1000), 1);
  EXPECT_FALSE(recent.is_ordinary(0x1000, 1));
  for (std::uintptr_t i = 2; i <= 9; ++i) EXPECT_TRUE(recent.is_ordinary(i * 0x1000, 1)) << i;
}

}  // namespace
}  // namespace isthmus::host
