// Belady's eviction in whole runs, where the first run finds the order of the accesses.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "small_programs.hpp"

namespace isthmus::sim {
namespace {

using namespace small;

constexpr std::uint32_t kPageBytes = 64U << 10U;
constexpr std::uint64_t kPageLines = kPageBytes / 128;

/// One warp reads a line of each page in turn, never the same one twice: no cache has it. The pages
/// are those of cpp/tests/pages/eviction_test.cpp.
Builder textbook() {
  WarpSteps steps;
  std::uint64_t at = 0;
  for (const std::uint64_t page : {7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1})
    steps.push_back(load({page * kPageLines + at++}));
  return Builder().launch({}, {{{steps}}});
}

Result with(pages::EvictionKind kind, const Builder& program, Observer* observer = nullptr) {
  ModelledMachine machine = round_machine();
  machine.partitions.memory_bytes = 3ULL * kPageBytes;
  pages::MigrationPolicy policy;
  policy.kind = pages::PolicyKind::whole_page;
  policy.page_bytes = kPageBytes;
  Options options;
  options.eviction.kind = kind;
  options.eviction.recency = pages::Recency::access;
  return run(program, machine, policy, options, observer);
}

TEST(Foresight, EvictsSixPagesWhereTheLeastRecentlyUsedAreNine) {
  EXPECT_EQ(with(pages::EvictionKind::belady, textbook()).evictions, 6U);
  EXPECT_EQ(with(pages::EvictionKind::lru, textbook()).evictions, 9U);
}

TEST(Foresight, OfLaunchesKnowsWhatTheNextOneReads) {
  Builder program = textbook();
  program.launch({}, {{{load({3 * kPageLines + 99}), load({5 * kPageLines + 99})}}});
  const Result result = with(pages::EvictionKind::belady, program);
  // 0, 1 and 7 are there, and none of them is needed again.
  EXPECT_EQ(result.evictions, 6U + 2U);
  EXPECT_EQ(result.launches.size(), 2U);
}

TEST(Foresight, ShowsTheEventsOfTheSecondRunAlone) {
  struct Counting : Observer {
    void evicted(std::uint64_t, std::uint64_t, Span) override { ++count; }
    int count = 0;
  } counting;
  with(pages::EvictionKind::belady, textbook(), &counting);
  EXPECT_EQ(counting.count, 6);
}

}  // namespace
}  // namespace isthmus::sim
