#include "workloads/modern/lookups.hpp"

#include <gtest/gtest.h>

#include <unordered_map>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;

Recorded<HashJoin>& join() {
  static Recorded<HashJoin> run(std::make_unique<HashJoin>(HashJoinSizes(), 1));
  return run;
}

TEST(HashJoin, FindsWhatAMapFinds) {
  const HashJoinArguments& in = join().program.arguments();
  std::unordered_map<unsigned, unsigned> map;
  for (unsigned row = 0; row < HashJoinSizes().rows; ++row)
    ASSERT_TRUE(map.emplace(in.build_keys.values[row], in.build_values.values[row]).second);
  EXPECT_FALSE(map.contains(0));
  unsigned num_found = 0;
  for (unsigned row = 0; row < HashJoinSizes().probes; ++row) {
    const auto found = map.find(in.probe_keys.values[row]);
    ASSERT_EQ(in.results.values[row], found == map.end() ? 0 : found->second) << "row " << row;
    if (found != map.end()) ++num_found;
  }
  EXPECT_NEAR(static_cast<double>(num_found) / HashJoinSizes().probes, 0.5, 0.01);
}

TEST(HashJoin, SpreadsItsKeys) {
  // A quarter of the slots is used: few rows need a second probe.
  EXPECT_LT(static_cast<double>(join().counted.line_requests),
            1.6 * (2 * HashJoinSizes().rows + 1.5 * HashJoinSizes().probes));
}

}  // namespace
}  // namespace isthmus::workloads
