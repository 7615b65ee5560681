#include "workloads/modern/power_law_graphs.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;

Recorded<Pagerank>& pagerank() {
  static Recorded<Pagerank> run(std::make_unique<Pagerank>(PagerankSizes(), 1));
  return run;
}

/// By pushing, edge by edge.
std::vector<double> push(const PagerankArguments& in, const std::vector<double>& ranks) {
  std::vector<double> next(ranks.size(), 0.15 / static_cast<double>(ranks.size()));
  for (std::size_t node = 0; node < ranks.size(); ++node)
    for (unsigned edge = in.begins.values[node]; edge < in.begins.values[node + 1]; ++edge) {
      const unsigned source = in.sources.values[edge];
      next[node] += 0.85 * ranks[source] / in.degrees.values[source];
    }
  return next;
}

TEST(Pagerank, GivesTheRanksThatThreeRoundsInDoublesGive) {
  const PagerankArguments& in = pagerank().program.arguments();
  std::vector<double> ranks(PagerankSizes().nodes, 1.0 / PagerankSizes().nodes);
  for (unsigned i = 0; i < PagerankSizes().iterations; ++i) ranks = push(in, ranks);
  for (std::size_t node = 0; node < ranks.size(); ++node)
    ASSERT_NEAR(static_cast<double>(in.ranks.values[node]), ranks[node], 1e-4 * ranks[node] + 1e-9)
        << "node " << node;
}

TEST(Pagerank, HasTwoLaunchesForEachIteration) {
  EXPECT_EQ(pagerank().program.program().launches.size(), 2U * PagerankSizes().iterations);
}

}  // namespace
}  // namespace isthmus::workloads
