#include "workloads/evaluation/nqu.hpp"

#include <gtest/gtest.h>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;

Recorded<Nqu>& nqu() {
  static Recorded<Nqu> run(std::make_unique<Nqu>(NquSizes(), 1));
  return run;
}

unsigned ways(unsigned row, unsigned columns, unsigned left, unsigned right, unsigned board) {
  if (columns == board) return 1;
  unsigned count = 0;
  for (unsigned queen = 1; queen <= board; queen <<= 1)
    if (((columns | left | right) & queen) == 0)
      count += ways(row + 1, columns | queen, (left | queen) << 1, (right | queen) >> 1, board);
  return count;
}

TEST(Nqu, CountsTheWaysThatRecursionCounts) {
  EXPECT_EQ(nqu().program.num_ways(), ways(0, 0, 0, 0, (1U << NquSizes().queens) - 1));
  EXPECT_EQ(nqu().program.num_ways(), 724U);  // OEIS A000170
}

TEST(Nqu, IsAsLargeAsTheOriginal) {
  EXPECT_LT(nqu().counted.upload_kib, 1);  // ispass2009
  EXPECT_EQ(nqu().counted.pages, 1U);
  std::uint64_t allocated = 0;
  for (const trace::Allocation& allocation : nqu().program.program().allocations)
    allocated += allocation.size_bytes;
  EXPECT_NEAR(static_cast<double>(allocated) / 1024, 290, 45);  // at 256 CTAs; here 223
}

TEST(Nqu, RunsAsManyInstructionsAsPublished) {
  EXPECT_NEAR(nqu().counted.millions(), 2, 0.1);  // ISPASS'09, Table 1
}

}  // namespace
}  // namespace isthmus::workloads
