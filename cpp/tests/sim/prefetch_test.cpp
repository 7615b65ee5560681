// Allocations brought as a kernel is launched: times that can be calculated by hand.
#include <gtest/gtest.h>

#include "random_programs.hpp"

namespace isthmus::sim::small {
namespace {

constexpr std::uint64_t kMiB = kKiB * kKiB;
constexpr Picoseconds kKiBOnLink = 1'024'000;
// What waited for a migration: port, DRAM, L2, network.
constexpr Picoseconds kAfterArrival = (4 + 8 + 100 + 20 + 10) * kCycle;

pages::MigrationPolicy units() {
  pages::MigrationPolicy policy;
  policy.kind = pages::PolicyKind::bitmap;
  policy.unit_bytes = kKiB;
  return policy;
}

Options prefetching() {
  Options options = mode(Mode::migrate);
  options.hints = Hints::prefetch;
  return options;
}

Result prefetched(const Builder& builder, const ModelledMachine& machine = round_machine()) {
  return run(builder, machine, units(), prefetching());
}

TEST(APrefetch, BringsTheWholeAllocationAndCostsNoFault) {
  ModelledMachine machine = round_machine();
  machine.faults.latency_ps = 10'000'000'000;
  machine.launch.latency_ps = 3000;
  const Builder builder = Builder().allocate(0, 4 * kKiB).launch({}, {{{load({8})}}});
  const Result result = prefetched(builder, machine);
  EXPECT_EQ(result.total_ps, 4 * kKiBOnLink + kAfterArrival);
  EXPECT_EQ(result.traffic.migrated_to_gpu, 4 * kKiB);
  EXPECT_EQ(result.migrations, 1U);
}

TEST(APrefetch, KeepsTheOrderOfAllocationsWhileTheKernelRuns) {
  // The second warp's line is in the array that comes first.
  const Builder builder = Builder()
                              .allocate(8 * kKiB, kKiB)
                              .allocate(0, 2 * kKiB)
                              .launch({}, {{{load({0})}, {load({64}), barrier(99)}}});
  const Result result = prefetched(builder);
  EXPECT_EQ(result.total_ps, 3 * kKiBOnLink + kAfterArrival);
  // Alone, the second warp would end before the rest has arrived.
  const Builder alone =
      Builder().allocate(8 * kKiB, kKiB).launch({}, {{{load({64}), barrier(99)}}});
  EXPECT_EQ(prefetched(alone).total_ps, kKiBOnLink + kAfterArrival + 400 * kCycle);
}

TEST(APrefetch, LeavesWhatTheKernelDoesNotTouch) {
  const Builder builder = Builder()
                              .allocate(0, kKiB)
                              .allocate(8 * kKiB, kKiB)
                              .launch({}, {{{load({64})}}})
                              .launch({}, {{{load({0})}}});
  const Result result = prefetched(builder);
  EXPECT_EQ(result.launches[0].end_ps, kKiBOnLink + kAfterArrival);
  EXPECT_EQ(result.total_ps, 2 * (kKiBOnLink + kAfterArrival));
}

TEST(APrefetch, BringsOnlyWhatIsNotThereYet) {
  const Builder again =
      Builder().allocate(0, kKiB).launch({}, {{{load({0})}}}).launch({}, {{{load({1})}}});
  EXPECT_EQ(prefetched(again).traffic.migrated_to_gpu, kKiB);
  const Builder taken = Builder()
                            .allocate(0, kKiB)
                            .launch({}, {{{load({0})}}})
                            .launch({download(0, 4)}, {{{load({1})}}});
  EXPECT_EQ(prefetched(taken).traffic.migrated_to_gpu, 2 * kKiB);
}

TEST(APrefetch, LeavesNoMemoryToNothingElse) {
  // Two pages in memory of one: the second comes when it is asked for.
  const Builder builder =
      Builder().allocate(0, 4 * kMiB).launch({}, {{{load({0}), load({16384})}}});
  Options options = prefetching();
  options.eviction.limit_bytes = 2 * kMiB;
  const Result result = run(builder, round_machine(), units(), options);
  EXPECT_EQ(result.traffic.migrated_to_gpu, 2 * kMiB + kKiB);
  EXPECT_EQ(result.evictions, 1U);
}

TEST(APrefetch, ThatNobodyWaitsForDoesNotLengthenTheRun) {
  // The second page is on the link when the kernel ends: the bound counts it only until then.
  const Builder builder = Builder().allocate(0, 4 * kMiB).launch({}, {{{load({0})}}});
  const Result result = prefetched(builder);
  EXPECT_EQ(result.total_ps, 2 * kKiB * kKiBOnLink + kAfterArrival);
  EXPECT_EQ(result.traffic.migrated_to_gpu, 4 * kMiB);
  EXPECT_EQ(result.least_ps, result.total_ps);
}

TEST(APrefetch, ServesEveryRequestOfRandomPrograms) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    RandomProgram program = random_program(seed, 3 * 16384);  // three pages
    program.builder.allocate(0, 3 * kMiB).allocate(3 * kMiB, 3 * kMiB);
    program.builder.before(1, {download(kMiB, 4096)});
    Options options = prefetching();
    if (seed % 2 == 0) options.eviction.limit_bytes = 4 * kMiB;
    if (seed % 3 == 0) options.buffer_scope = BufferScope::total;
    pages::MigrationPolicy policy = units();
    if (seed % 4 == 0) policy.kind = pages::PolicyKind::tree;
    const Result result = run(program.builder, two_core_machine(), policy, options);
    const Result ideal = run(program.builder, two_core_machine(), {}, mode(Mode::ideal));
    EXPECT_EQ(result.line_requests, ideal.line_requests);
    EXPECT_GE(result.total_ps, result.least_ps);
    if (options.eviction.limit_bytes != 0) continue;  // what is evicted comes again
    options.hints = Hints::none;
    const Result on_demand = run(program.builder, two_core_machine(), policy, options);
    EXPECT_GT(on_demand.migrations, result.migrations);
  }
}

}  // namespace
}  // namespace isthmus::sim::small
