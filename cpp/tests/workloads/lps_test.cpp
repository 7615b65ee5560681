#include "workloads/evaluation/physics.hpp"

#include <gtest/gtest.h>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;

constexpr unsigned kSize = LpsSizes().size;

Recorded<Lps>& lps() {
  static Recorded<Lps> run(std::make_unique<Lps>(LpsSizes(), 1));
  return run;
}

float expected_at(const float* u, unsigned x, unsigned y, unsigned z) {
  const auto at = [&](unsigned i, unsigned j, unsigned k) {
    return u[(k * kSize + j) * kSize + i];
  };
  const bool inner = x % (kSize - 1) != 0 && y % (kSize - 1) != 0 && z % (kSize - 1) != 0;
  if (!inner) return at(x, y, z);
  return (at(x - 1, y, z) + at(x + 1, y, z) + at(x, y - 1, z) + at(x, y + 1, z) + at(x, y, z - 1) +
          at(x, y, z + 1)) *
         (1.0F / 6.0F);
}

TEST(Lps, ComputesTheStepThatThreeNestedLoopsCompute) {
  const LpsArguments& memory = lps().program.arguments();
  for (unsigned z = 0; z < kSize; ++z)
    for (unsigned y = 0; y < kSize; ++y)
      for (unsigned x = 0; x < kSize; ++x)
        ASSERT_EQ(memory.after.values[(z * kSize + y) * kSize + x],
                  expected_at(memory.before.values, x, y, z))
            << x << ", " << y << ", " << z;
}

TEST(Lps, IsAsLargeAsTheOriginal) {
  EXPECT_NEAR(lps().counted.upload_kib, 3906, 1);  // ispass2009
  EXPECT_NEAR(lps().counted.touched_kib, 7812, 1);
  EXPECT_EQ(lps().counted.pages, 4U);
}

TEST(Lps, RunsAsManyInstructionsAsPublished) {
  EXPECT_NEAR(lps().counted.millions(), 82, 2);  // ISPASS'09, Table 1
}

TEST(Lps, MeetsAtTwoBarriersForEveryPlane) {
  EXPECT_EQ(lps().counted.barriers, 100U * 4 * kSize * 2);  // CTAs, warps
}

}  // namespace
}  // namespace isthmus::workloads
