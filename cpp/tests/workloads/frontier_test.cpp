#include "workloads/modern/power_law_graphs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;

constexpr FrontierSizes kWithWeights{.nodes = 1U << 15U, .weights = 64};

Recorded<Frontier>& search() {
  static Recorded<Frontier> run(std::make_unique<Frontier>(FrontierSizes(), 1));
  return run;
}

Recorded<Frontier>& paths() {
  static Recorded<Frontier> run(std::make_unique<Frontier>(kWithWeights, 1));
  return run;
}

/// Dijkstra's, with a queue by distance.
std::vector<unsigned> distances_by_queue(const FrontierArguments& graph) {
  using Reached = std::pair<unsigned, unsigned>;  // distance, node
  std::vector<unsigned> distances(graph.distances.num_elements, Frontier::kFar);
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
  distances[Frontier::kSource] = 0;
  queue.emplace(0, Frontier::kSource);
  while (!queue.empty()) {
    const auto [distance, node] = queue.top();
    queue.pop();
    if (distance > distances[node]) continue;
    for (unsigned e = graph.begins.values[node]; e < graph.begins.values[node + 1]; ++e) {
      const unsigned target = graph.targets.values[e];
      const unsigned sum =
          distance + (graph.weights.num_elements == 0 ? 1 : graph.weights.values[e]);
      if (sum >= distances[target]) continue;
      distances[target] = sum;
      queue.emplace(sum, target);
    }
  }
  return distances;
}

std::vector<unsigned> distances_of(const FrontierArguments& in) {
  return {in.distances.values, in.distances.values + in.distances.num_elements};
}

std::uint64_t nodes_in_frontiers(const Frontier& program) {
  // A CTA has four nodes, the last one fewer.
  std::uint64_t most = 0;
  for (const trace::Launch& launch : program.program().launches)
    most += std::uint64_t{launch.num_ctas} * kFrontierWarps;
  return most;
}

TEST(Frontier, FindsTheNumbersOfEdgesThatAQueueFinds) {
  EXPECT_EQ(distances_of(search().program.arguments()),
            distances_by_queue(search().program.arguments()));
}

TEST(Frontier, FindsTheDistancesThatAQueueFinds) {
  EXPECT_EQ(distances_of(paths().program.arguments()),
            distances_by_queue(paths().program.arguments()));
}

TEST(Frontier, ReachesMostOfTheGraph) {
  const std::vector<unsigned> distances = distances_of(search().program.arguments());
  const auto far = std::count(distances.begin(), distances.end(), Frontier::kFar);
  EXPECT_LT(static_cast<double>(far), 0.01 * static_cast<double>(distances.size()));
}

TEST(Frontier, TakesEachNodeOnceWithoutWeightsAndSomeAgainWithThem) {
  const std::uint64_t padding = search().program.program().launches.size() * kFrontierWarps;
  EXPECT_LE(nodes_in_frontiers(search().program), FrontierSizes().nodes + padding);
  EXPECT_GT(nodes_in_frontiers(search().program), FrontierSizes().nodes * 0.99);
  EXPECT_GT(nodes_in_frontiers(paths().program), kWithWeights.nodes * 1.2);
}

TEST(Frontier, HasTheHostReadEachFrontiersLengthBeforeItsLaunch) {
  using Kind = trace::HostStep::Kind;
  const trace::Program& program = paths().program.program();
  const std::uint64_t length = paths().program.arguments().num_next.address;
  for (std::size_t launch = 1; launch < program.launches.size(); ++launch) {
    const std::vector<trace::HostStep>& steps = program.launches[launch].before;
    ASSERT_EQ(steps.size(), 2U) << launch;
    EXPECT_EQ(steps[0].kind, Kind::read);
    EXPECT_EQ(steps[0].address, length);
    EXPECT_EQ(steps[1].kind, Kind::write);
  }
  EXPECT_EQ(*paths().program.arguments().num_next.values, 0U) << "the last frontier is empty";
}

TEST(Frontier, ReadsEachEdgeOnceWithoutWeights) {
  // A node's edges are in as many lines as they touch; 17 of them have nearly as many targets.
  const FrontierArguments& in = search().program.arguments();
  std::uint64_t lines = 0;
  for (unsigned node = 0; node < FrontierSizes().nodes; ++node)
    lines += (in.begins.values[node + 1] + 31) / 32 - in.begins.values[node] / 32;
  EXPECT_GT(search().counted.line_requests, lines + in.targets.num_elements / 2);
  EXPECT_LT(search().counted.line_requests, lines + 2 * in.targets.num_elements);
}

TEST(Frontier, HasTheSameLaunchesAgainAfterRewind) {
  const testing::Digest first(paths().recorder);
  EXPECT_TRUE(first == testing::Digest(paths().recorder));
}

}  // namespace
}  // namespace isthmus::workloads
