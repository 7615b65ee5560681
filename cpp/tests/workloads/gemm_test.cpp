#include "workloads/modern/products.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;

Recorded<Gemm>& gemm() {
  static Recorded<Gemm> run(std::make_unique<Gemm>(GemmSizes(), 1));
  return run;
}

float at(const Array<GemmPart>& matrix, unsigned num_columns, unsigned row, unsigned column) {
  return matrix.values[(row * num_columns + column) / 4].values[column % 4];
}

std::vector<float> row_of_product(const GemmArguments& in, unsigned row) {
  std::vector<float> sums(in.num_columns);
  for (unsigned k = 0; k < in.depth; ++k)
    for (unsigned column = 0; column < in.num_columns; ++column)
      sums[column] += at(in.left, in.depth, row, k) * at(in.right, in.num_columns, k, column);
  return sums;
}

TEST(Gemm, ComputesTheProductThatThreeNestedLoopsCompute) {
  const GemmArguments& in = gemm().program.arguments();
  for (unsigned row = 0; row < GemmSizes().rows; row += 7) {  // covers every position in a tile
    const std::vector<float> expected = row_of_product(in, row);
    for (unsigned column = 0; column < GemmSizes().columns; ++column)
      ASSERT_NEAR(at(in.product, in.num_columns, row, column), expected[column], 1e-3F)
          << row << ", " << column;
  }
}

TEST(Gemm, TouchesAllOfItsThreeMatrices) {
  EXPECT_EQ(gemm().counted.upload_kib, (32 + 1) * 1024);
  EXPECT_EQ(gemm().counted.touched_kib, (32 + 1 + 2) * 1024);
}

TEST(Gemm, ReadsHalfALineOfARowAtATimeAndWholeOnesOfColumns) {
  constexpr std::uint64_t ctas = GemmSizes().rows / kGemmTile * (GemmSizes().columns / kGemmTile);
  // A step: 64 half lines of the left factor, 16 rows of two lines of the right one.
  constexpr std::uint64_t of_step = kGemmTile + kGemmDepth * 2;
  constexpr std::uint64_t loads = ctas * (GemmSizes().depth / kGemmDepth) * of_step;
  // 64 rows of two lines, each stored once.
  constexpr std::uint64_t stores = ctas * kGemmTile * 2;
  EXPECT_EQ(gemm().counted.line_requests, loads + stores);
}

TEST(Gemm, MeetsAtTwoBarriersForEveryStep) {
  constexpr std::uint64_t warps =
      GemmSizes().rows / kGemmTile * (GemmSizes().columns / kGemmTile) * kGemmThreads / 32;
  EXPECT_EQ(gemm().counted.barriers, warps * (GemmSizes().depth / kGemmDepth) * 2);
}

}  // namespace
}  // namespace isthmus::workloads
