#include "workloads/evaluation/bfs.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;

Recorded<Bfs>& bfs() {
  static Recorded<Bfs> run(std::make_unique<Bfs>(BfsSizes(), 1));
  return run;
}

std::vector<int> costs_by_queue(const BfsArguments& graph) {
  std::vector<int> costs(BfsSizes().nodes, -1);
  std::deque<unsigned> queue{Bfs::kSource};
  costs[Bfs::kSource] = 0;
  for (; !queue.empty(); queue.pop_front()) {
    const BfsNode& node = graph.nodes.values[queue.front()];
    for (unsigned edge = node.first_edge; edge < node.first_edge + node.num_edges; ++edge) {
      const unsigned other = graph.edges.values[edge];
      if (costs[other] != -1) continue;
      costs[other] = costs[queue.front()] + 1;
      queue.push_back(other);
    }
  }
  return costs;
}

TEST(Bfs, FindsTheCostsThatAQueueFinds) {
  const std::vector<int> expected = costs_by_queue(bfs().program.arguments());
  const int* costs = bfs().program.arguments().cost.values;
  EXPECT_EQ(std::vector<int>(costs, costs + BfsSizes().nodes), expected);
}

TEST(Bfs, LeavesNoNodeInTheFrontierAndEndsWithALaunchThatReachesNone) {
  const BfsArguments& memory = bfs().program.arguments();
  for (unsigned node = 0; node < BfsSizes().nodes; ++node)
    ASSERT_EQ(memory.frontier.values[node], 0) << "node " << node;
  EXPECT_EQ(*memory.go_on.values, 0);
}

TEST(Bfs, IsAsLargeAsTheOriginal) {
  EXPECT_NEAR(bfs().counted.upload_kib, 2432, 0);  // ispass2009
  EXPECT_NEAR(bfs().counted.touched_kib, 2432, 1);
  EXPECT_EQ(bfs().counted.pages, 2U);
}

TEST(Bfs, RunsAsManyInstructionsAsPublished) {
  EXPECT_NEAR(bfs().counted.millions(), 17, 1);  // ISPASS'09, Table 1
}

TEST(Bfs, HasTheHostReadTheFlagAfterEveryLevel) {
  using Kind = trace::HostStep::Kind;
  const trace::Program& program = bfs().program.program();
  const std::uint64_t flag = bfs().program.arguments().go_on.address;
  for (std::size_t level = 1; level < program.launches.size(); ++level) {
    const std::vector<trace::HostStep>& steps = program.launches[level].before;
    ASSERT_EQ(steps.size(), 2U) << "level " << level;
    EXPECT_EQ(steps[0].kind, Kind::read);
    EXPECT_EQ(steps[0].address, flag);
    EXPECT_EQ(steps[1].kind, Kind::write);
  }
  EXPECT_EQ(program.after.at(0).kind, Kind::read);
}

}  // namespace
}  // namespace isthmus::workloads
