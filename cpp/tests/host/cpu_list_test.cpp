#include "host/cpu/cpu_list.hpp"

#include <gtest/gtest.h>

namespace isthmus::host {
namespace {

using Cpus = std::vector<int>;

TEST(CpuList, RangesAndSingleNumbersAreRead) {
  EXPECT_EQ(parse_cpu_list("0-2,8,10-11\n"), (Cpus{0, 1, 2, 8, 10, 11}));
}

TEST(CpuList, AnEmptyListIsEmpty) {
  EXPECT_TRUE(parse_cpu_list("").empty());
  EXPECT_TRUE(parse_cpu_list("\n").empty());
}

TEST(CpuList, DamagedPartsAreLeftOutAndTheRestIsRead) {
  EXPECT_EQ(parse_cpu_list("1,x,-3,4-,7-5,99999999,6"), (Cpus{1, 6}));
}

TEST(CpuList, OverlapsAndDisorderAreSortedOut) {
  EXPECT_EQ(parse_cpu_list("4,0-2,1-3"), (Cpus{0, 1, 2, 3, 4}));
}

TEST(CpuList, ADamagedListThatRepeatsItselfCostsNoMoreThanItsCpus) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "0-65536,";
  EXPECT_EQ(parse_cpu_list(text).size(), 65537U);
}

TEST(CpuList, FormattingIsTheInverseOfParsing) {
  for (const char* text : {"", "0", "0-1", "0-2,8,10-11", "5,7,9"}) {
    EXPECT_EQ(format_cpu_list(parse_cpu_list(text)), text);
  }
}

TEST(CpuList, AnIntersectionKeepsWhatBothHave) {
  EXPECT_EQ(intersect_cpu_lists({0, 1, 2, 5}, {1, 5, 9}), (Cpus{1, 5}));
  EXPECT_TRUE(intersect_cpu_lists({0}, {1}).empty());
}

}  // namespace
}  // namespace isthmus::host
