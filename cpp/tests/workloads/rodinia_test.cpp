#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <vector>

#include "recording.hpp"
#include "workloads/evaluation/bfs.hpp"
#include "workloads/rodinia/rodinia.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;

Recorded<BfsRodinia>& search() {
  static Recorded<BfsRodinia> run(std::make_unique<BfsRodinia>(BfsRodiniaSizes(), 1));
  return run;
}

TEST(RodiniasSearch, FindsWhatTheOtherOneFindsInTheSameGraph) {
  const Recorded<Bfs> other(std::make_unique<Bfs>(BfsSizes(), 1));
  const int* ours = search().program.arguments().cost.values;
  const int* theirs = other.program.arguments().cost.values;
  const std::uint32_t nodes = BfsSizes().nodes;
  EXPECT_EQ(std::vector<int>(ours, ours + nodes), std::vector<int>(theirs, theirs + nodes));
}

TEST(RodiniasSearch, HasTwoKernelsForEachLevelAndTheHostReadsTheFlagOnce) {
  using Kind = trace::HostStep::Kind;
  const trace::Program& program = search().program.program();
  ASSERT_EQ(program.launches.size() % 2, 0U);
  for (std::size_t launch = 1; launch < program.launches.size(); ++launch) {
    const std::vector<trace::HostStep>& steps = program.launches[launch].before;
    if (launch % 2 != 0) {
      EXPECT_TRUE(steps.empty());
      continue;
    }
    ASSERT_EQ(steps.size(), 2U);
    EXPECT_EQ(steps[0].kind, Kind::read);
    EXPECT_EQ(steps[1].kind, Kind::write);
  }
  EXPECT_EQ(*search().program.arguments().go_on.values, 0);
}

TEST(RodiniasNeighbours, AreAsFarAsTheyAre) {
  const Recorded<NnRodinia> run(std::make_unique<NnRodinia>(NnRodiniaSizes{1000}, 1));
  const NnRodiniaArguments& memory = run.program.arguments();
  for (std::size_t place = 0; place < 1000; ++place) {
    const NnRodiniaPlace& at = memory.places.values[place];
    ASSERT_FLOAT_EQ(memory.distances.values[place],
                    std::hypot(memory.latitude - at.latitude, memory.longitude - at.longitude))
        << place;
  }
  // 8 B of each are read, 4 B written.
  EXPECT_NEAR(run.counted.touched_kib, 12'000.0 / 1024, 0.25);
  EXPECT_EQ(run.program.program().launches[0].num_ctas, 4U);
}

}  // namespace
}  // namespace isthmus::workloads
