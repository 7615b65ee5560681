
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "recording.hpp"
#include "workloads/modern/power_law_graphs.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;

Recorded<Spmv>& spmv() {
  static Recorded<Spmv> run(std::make_unique<Spmv>(SpmvSizes(), 1));
  return run;
}

TEST(Spmv, MultipliesAsALoopOverRowsInDoublesDoes) {
  const SpmvArguments& in = spmv().program.arguments();
  for (unsigned row = 0; row < SpmvSizes().rows; ++row) {
    double sum = 0;
    for (unsigned entry = in.row_begins.values[row]; entry < in.row_begins.values[row + 1]; ++entry)
      sum += static_cast<double>(in.values.values[entry]) *
             static_cast<double>(in.x.values[in.columns.values[entry]]);
    ASSERT_NEAR(static_cast<double>(in.y.values[row]), sum, 1e-4) << "row " << row;
  }
}

TEST(Spmv, TouchesAllOfTheMatrix) {
  const SpmvArguments& in = spmv().program.arguments();
  const double matrix_kib = static_cast<double>(in.columns.num_elements) * 8 / 1024;
  EXPECT_GT(spmv().counted.touched_kib, matrix_kib);
  EXPECT_LT(spmv().counted.touched_kib, matrix_kib + SpmvSizes().rows * 12.0 / 1024 + 1);
}

TEST(PowerLawGraph, FewNodesHaveMostOfTheEdges) {
  const PowerLawGraph graph = make_power_law_graph(1U << 16U, 1);
  std::vector<std::uint32_t> degrees;
  for (std::size_t node = 0; node + 1 < graph.begins.size(); ++node)
    degrees.push_back(graph.begins[node + 1] - graph.begins[node]);
  std::sort(degrees.rbegin(), degrees.rend());
  const auto num_edges = static_cast<double>(graph.sources.size());
  EXPECT_NEAR(num_edges / static_cast<double>(degrees.size()), 17, 1.5);
  double of_top = 0;
  for (std::size_t i = 0; i < degrees.size() / 100; ++i) of_top += degrees[i];
  EXPECT_GT(of_top / num_edges, 0.4);
  EXPECT_EQ(degrees.back(), 2U);
}

}  // namespace
}  // namespace isthmus::workloads
