#include "workloads/evaluation/physics.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;

Recorded<Cp>& cp() {
  static Recorded<Cp> run(std::make_unique<Cp>(CpSizes(), 1));
  return run;
}

double potential_at(const CpArguments& in, unsigned x, unsigned y) {
  double sum = 0;
  for (unsigned i = 0; i < in.num_atoms; ++i) {
    const double dx = x * static_cast<double>(in.spacing) - static_cast<double>(in.atoms[i].x);
    const double dy = y * static_cast<double>(in.spacing) - static_cast<double>(in.atoms[i].y);
    sum += static_cast<double>(in.atoms[i].charge) /
           std::sqrt(dx * dx + dy * dy + static_cast<double>(in.atoms[i].z_squared));
  }
  return sum;
}

TEST(Cp, ComputesThePotentialThatTwoNestedLoopsCompute) {
  const CpArguments& in = cp().program.arguments();
  for (unsigned y = 0; y < CpSizes().size; ++y)
    for (unsigned x = 0; x < CpSizes().size; ++x)
      ASSERT_NEAR(static_cast<double>(in.potential.values[y * CpSizes().size + x]),
                  potential_at(in, x, y), 1e-3)
          << x << ", " << y;
}

TEST(Cp, IsAsLargeAsTheOriginal) {
  EXPECT_EQ(cp().counted.upload_kib, 0);  // ispass2009
  EXPECT_EQ(cp().counted.touched_kib, 256);
  EXPECT_EQ(cp().counted.pages, 1U);
}

TEST(Cp, RunsAsManyInstructionsAsPublished) {
  EXPECT_NEAR(cp().counted.millions(), 126, 1);  // ISPASS'09, Table 1
}

TEST(Cp, ReadsAndWritesEachPointOnceInHalfLines) {
  // 1024 warps; 2 points a thread; 2 rows, one line each; a load and a store.
  EXPECT_EQ(cp().counted.line_requests, 1024U * 2 * 2 * 2);
}

}  // namespace
}  // namespace isthmus::workloads
