// What page faults take, calculated by hand, to the picosecond.
#include <gtest/gtest.h>

#include <vector>

#include "small_programs.hpp"

namespace isthmus::sim::small {
namespace {

/// The blocks of 2 MiB whose parts arrived, in order.
class ArrivedBlocks : public Observer {
public:
  void migrated(std::uint64_t address, std::uint64_t /*size_bytes*/, Span /*span*/) override {
    blocks.push_back(address / (2U << 20U));
  }
  std::vector<std::uint64_t> blocks;
};

TEST(ExactFaultTimes, FaultsAreHandledSideBySideOrInBatchesOrOneAfterTheOther) {
  // Two faults a cycle apart, 1 us each.
  const Builder builder = Builder().launch({}, {{{load({0, 64})}}});
  ModelledMachine machine = round_machine();
  machine.faults.latency_ps = 10'000'000;
  const Picoseconds base = 4 * kCycle + kDramLoad;
  EXPECT_EQ(run(builder, machine, units(kKiB), mode(Mode::migrate)).total_ps,
            base + 10'000'000U + 2 * 1'024'000U);
  machine.faults.handling = Handling::batch;
  EXPECT_EQ(run(builder, machine, units(kKiB), mode(Mode::migrate)).total_ps,
            base + 2 * 10'000'000U + 1'024'000U);
  machine.faults.handling = Handling::serial;
  EXPECT_EQ(run(builder, machine, units(kKiB), mode(Mode::migrate)).total_ps,
            base + 2 * 10'000'000U + 1'024'000U);
}

TEST(ExactFaultTimes, AWarpWaitsForWhatItsStoreLacksIfItsLanesFetchIt) {
  const Builder builder = Builder().launch({}, {{{store({8}), load({64})}}});
  ModelledMachine machine = round_machine();
  machine.faults = {10'000'000, Handling::lanes};
  const Picoseconds access = 4 * kCycle + kDramLoad + 10'000'000U + 1'024'000U;
  EXPECT_EQ(run(builder, machine, units(kKiB), mode(Mode::migrate)).total_ps, 2 * access);
  machine.faults.fetch_ps = 7'000'000;
  EXPECT_EQ(run(builder, machine, units(kKiB), mode(Mode::migrate)).total_ps,
            2 * (access + 7'000'000U));
  // By a driver, the load begins 4 cycles after the store, and its unit follows on the link.
  machine.faults.handling = Handling::each;
  EXPECT_EQ(run(builder, machine, units(kKiB), mode(Mode::migrate)).total_ps, access + 1'024'000U);
}

TEST(ExactFaultTimes, ABatchTakesAllThatArrivedWhileAnotherWasHandled) {
  // Four faults a cycle apart: the first alone, the other three together, one transfer each.
  const Builder builder = Builder().launch({}, {{{load({0, 64, 128, 192})}}});
  ModelledMachine machine = round_machine();
  machine.faults = {10'000'000, Handling::batch, 256};
  const Result result = run(builder, machine, units(kKiB), mode(Mode::migrate));
  EXPECT_EQ(result.total_ps, 4 * kCycle + kDramLoad + 2 * 10'000'000U + 3 * 1'024'000U);
  EXPECT_EQ(result.fault_batches, 2U);
}

TEST(ExactFaultTimes, ABatchTakesTimeForItsBlocksAndPagesOneAfterTheOther) {
  // As before: a batch of one, and one of three in the same block of 2 MiB.
  const Builder builder = Builder().launch({}, {{{load({0, 64, 128, 192})}}});
  ModelledMachine machine = round_machine();
  machine.faults = {10'000'000, Handling::batch, 256, 3'000'000, 1'000'000};
  const Result result = run(builder, machine, units(kKiB), mode(Mode::migrate));
  // The first transfer of the second batch starts after 10 + 3 + 1 us of each batch; the others
  // follow it on the link, since a page takes less than a transfer.
  EXPECT_EQ(result.total_ps, 4 * kCycle + kDramLoad + 2 * 14'000'000U + 3 * 1'024'000U);
  EXPECT_EQ(result.fault_batches, 2U);
  EXPECT_EQ(result.fault_blocks, 2U);
  EXPECT_EQ(result.fault_pages, 4U);
}

TEST(ExactFaultTimes, BlocksOfABatchAreCountedOnceEach) {
  // Lines 2 MiB apart: the second batch has three blocks.
  constexpr std::uint64_t kBlockLines = (2U << 20U) / 128;
  const Builder builder =
      Builder().launch({}, {{{load({0, kBlockLines, 2 * kBlockLines, 3 * kBlockLines})}}});
  ModelledMachine machine = round_machine();
  machine.faults = {10'000'000, Handling::batch, 256, 3'000'000, 0};
  const Result result = run(builder, machine, units(kKiB), mode(Mode::migrate));
  EXPECT_EQ(result.fault_blocks, 4U);
  EXPECT_EQ(result.total_ps,
            4 * kCycle + kDramLoad + 13'000'000U + 10'000'000U + 9'000'000U + 1'024'000U);
}

TEST(ExactFaultTimes, ABatchOfMoreThanFitsEvictsWhatItHasJustBrought) {
  constexpr std::uint64_t kBlockLines = (2U << 20U) / 128;
  const Builder builder = Builder().launch({}, {{{load({0, 2 * kBlockLines, kBlockLines})}}});
  ModelledMachine machine = round_machine();
  machine.faults = {10'000'000, Handling::batch, 256};
  Options options = mode(Mode::migrate);
  options.eviction.limit_bytes = 2U << 20U;
  ArrivedBlocks arrived;
  const Result result = run(builder, machine, units(kKiB), options, &arrived);
  // The second batch has blocks 1 and 2, by address: 2 evicts 1 before it is used, so that 1 comes
  // again. A batch begins when all of the one before has arrived.
  EXPECT_EQ(arrived.blocks, (std::vector<std::uint64_t>{0, 1, 2, 1}));
  EXPECT_EQ(result.fault_batches, 3U);
  EXPECT_EQ(result.evictions, 3U);
  EXPECT_EQ(result.total_ps, 4 * kCycle + kDramLoad + 3 * 10'000'000U + 4 * 1'024'000U);
}

TEST(ExactFaultTimes, EachRequestCountsInABatchOfMoreThanFits) {
  // Two requests wait for either block. In a batch of two, the second block waits for the next one.
  constexpr std::uint64_t kBlockLines = (2U << 20U) / 128;
  const std::uint64_t first = kBlockLines;
  const std::uint64_t second = 2 * kBlockLines;
  const Builder builder =
      Builder().launch({}, {{{load({0, second, second + 1, first, first + 1})}}});
  ModelledMachine machine = round_machine();
  machine.faults = {10'000'000, Handling::batch, 2};
  Options options = mode(Mode::migrate);
  options.eviction.limit_bytes = 2U << 20U;
  ArrivedBlocks arrived;
  run(builder, machine, units(kKiB), options, &arrived);
  EXPECT_EQ(arrived.blocks, (std::vector<std::uint64_t>{0, 2, 1}));
}

TEST(ExactFaultTimes, OnlyAKernelsFirstBatchTakesLonger) {
  const Builder builder = Builder().launch({}, {{{load({0, 64})}}}).launch({}, {{{load({128})}}});
  ModelledMachine machine = round_machine();
  machine.faults = {10'000'000, Handling::batch, 256};
  const Result without = run(builder, machine, units(kKiB), mode(Mode::migrate));
  machine.faults.first_ps = 100'000'000;
  const Result with = run(builder, machine, units(kKiB), mode(Mode::migrate));
  EXPECT_EQ(with.fault_batches, 3U);
  EXPECT_EQ(with.total_ps - without.total_ps, 2 * 100'000'000U);
}

TEST(ExactFaultTimes, TheDriverTakesItsTimeToEvictBeforeItsNextBatch) {
  // Three pages, with room for one. The last fault waits until the driver has evicted the first page,
  // which takes longer than all that the second page takes meanwhile.
  pages::MigrationPolicy policy;
  policy.kind = pages::PolicyKind::whole_page;
  Options options = mode(Mode::migrate);
  options.eviction.limit_bytes = 2 << 20;
  const Builder builder = Builder().launch({}, {{{load({0}), load({16384}), load({32768})}}});
  ModelledMachine machine = round_machine();
  machine.faults = {1'000'000, Handling::batch, 256};
  const Picoseconds transfer = 2'097'152'000ULL;
  const Picoseconds load = 4 * kCycle + kDramLoad;
  const Result free = run(builder, machine, policy, options);
  EXPECT_EQ(free.evictions, 2U);
  EXPECT_EQ(free.total_ps, 3 * load + 5 * transfer + 1'000'000U);
  machine.faults.evict_ps = 10'000'000'000ULL;
  const Result slow = run(builder, machine, policy, options);
  EXPECT_EQ(slow.total_ps, 2 * load + 3 * transfer + 2 * 1'000'000U + 10'000'000'000ULL);
}

}  // namespace
}  // namespace isthmus::sim::small
