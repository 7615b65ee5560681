// A coherent link: times that can be calculated by hand, to the picosecond.
#include <gtest/gtest.h>

#include "small_programs.hpp"

namespace isthmus::sim::small {
namespace {

constexpr Picoseconds kInstruction = 4 * kCycle;
constexpr Picoseconds kLineOnLink = 128 * kCycle;
// Network and port; then from L2 to the core.
constexpr Picoseconds kThrough = (10 + 4) * kCycle;
constexpr Picoseconds kReturn = (20 + 10) * kCycle;
constexpr Picoseconds kL2Load = kThrough + kReturn;
constexpr Picoseconds kRemoteLoad = kThrough + kLineOnLink + kReturn;
constexpr Picoseconds kDramLoad = kThrough + (8 + 100) * kCycle + kReturn;

ModelledMachine coherent_machine() {
  ModelledMachine machine = round_machine();
  machine.link.coherent = true;
  return machine;
}

pages::MigrationPolicy zero_copy() {
  pages::MigrationPolicy policy;
  policy.kind = pages::PolicyKind::zero_copy;
  return policy;
}

pages::MigrationPolicy counters(std::uint32_t threshold) {
  pages::MigrationPolicy policy;
  policy.kind = pages::PolicyKind::access_counter;
  policy.unit_bytes = kKiB;
  policy.counter_bytes = kKiB;
  policy.counter_threshold = threshold;
  return policy;
}

Result run_coherent(const Builder& builder, const pages::MigrationPolicy& policy,
                    const ModelledMachine& machine = coherent_machine()) {
  return run(builder, machine, policy, mode(Mode::migrate));
}

TEST(ACoherentLink, FillsL2WhichTheNextKernelFinds) {
  const Builder builder = Builder().launch({}, {{{load({8})}}}).launch({}, {{{load({8})}}});
  const Result result = run_coherent(builder, zero_copy());
  EXPECT_EQ(result.total_ps, kInstruction + kRemoteLoad + kInstruction + kL2Load);
  EXPECT_EQ(result.traffic.remote_to_gpu, 128U);
  EXPECT_EQ(result.caches.l2_hits, 1U);
  EXPECT_EQ(result.caches.dram_reads, 0U);
  EXPECT_EQ(result.stalls.migration_ps, kLineOnLink);
}

TEST(ACoherentLink, CarriesALineOnceForTwoCores) {
  ModelledMachine machine = coherent_machine();
  machine.cores.count = 2;
  const Builder builder = Builder().launch({}, {{{load({8})}}, {{load({8})}}});
  const Result result = run_coherent(builder, zero_copy(), machine);
  EXPECT_EQ(result.total_ps, kInstruction + kRemoteLoad);
  EXPECT_EQ(result.traffic.remote_to_gpu, 128U);
}

TEST(ACoherentLink, TakesStoresToTheCpuAndL2Forgets) {
  const Builder once = Builder().launch({}, {{{store({8})}}});
  EXPECT_EQ(run_coherent(once, zero_copy()).total_ps, kInstruction + kThrough + kLineOnLink);
  const Builder builder =
      Builder().launch({}, {{{load({8}), store({8})}}}).launch({}, {{{load({8})}}});
  const Result result = run_coherent(builder, zero_copy());
  EXPECT_EQ(result.total_ps,
            2 * (kInstruction + kRemoteLoad) + kInstruction + kThrough + kLineOnLink);
  EXPECT_EQ(result.traffic.remote_to_cpu, 128U);
}

TEST(ACoherentLink, IsCrossedByEachAtomic) {
  const Builder builder =
      Builder().launch({}, {{{{OpKind::atomic, 0, {8}}, {OpKind::atomic, 0, {8}}}}});
  EXPECT_EQ(run_coherent(builder, zero_copy()).total_ps, 2 * (kInstruction + kRemoteLoad));
}

TEST(ACoherentLink, ForgetsLinesThatTheCpuWritesAndNotThoseThatItReads) {
  const auto between = [](const trace::HostStep& step) {
    return Builder().launch({}, {{{load({8})}}}).launch({step}, {{{load({8})}}});
  };
  const Result read = run_coherent(between(download(kKiB, 4)), zero_copy());
  EXPECT_EQ(read.total_ps, 2 * kInstruction + kRemoteLoad + kL2Load);
  const Result written = run_coherent(between(upload(kKiB, 4)), zero_copy());
  EXPECT_EQ(written.total_ps, 2 * (kInstruction + kRemoteLoad));
}

TEST(ACoherentLink, ServesWhatIsAboutToMigrateUntilTheDriverBegins) {
  // The second access makes the unit migrate; it takes the driver 10 us, and the third is done
  // long before.
  ModelledMachine machine = coherent_machine();
  machine.faults.latency_ps = 10'000'000;
  const Builder builder = Builder().launch({}, {{{load({0}), load({1}), load({2})}}});
  const Result result = run_coherent(builder, counters(2), machine);
  EXPECT_EQ(result.total_ps, 3 * (kInstruction + kRemoteLoad));
  EXPECT_EQ(result.traffic.remote_to_gpu, 3 * 128U);
  EXPECT_EQ(result.migrations, 1U);
  EXPECT_EQ(result.waits, 0U);
  machine.link.coherent = false;
  EXPECT_GT(run_coherent(builder, counters(2), machine).total_ps, 10'000'000U);
}

// The second load is at its partition after two instructions, a load and the network; from then on
// the driver takes 10 us, and the link 1024 ns.
constexpr Picoseconds kBegins = 2 * kInstruction + kRemoteLoad + 10 * kCycle + 10'000'000;
constexpr Picoseconds kArrives = kBegins + 1'024'000;

TEST(ACoherentLink, HoldsUpAccessesWhileTheirBytesAreCopied) {
  ModelledMachine machine = coherent_machine();
  machine.faults.latency_ps = 10'000'000;
  const Builder builder =
      Builder().launch({}, {{{load({0}), load({1}), barrier(2499), load({2})}}});
  const Result result = run_coherent(builder, counters(2), machine);
  EXPECT_EQ(result.waits, 1U);
  EXPECT_EQ(result.total_ps, kArrives + kDramLoad - 10 * kCycle);
}

TEST(ACoherentLink, LeavesWhatHasMigratedInTheGpusMemory) {
  ModelledMachine machine = coherent_machine();
  machine.faults.latency_ps = 10'000'000;
  // Line 0 has migrated, so L2 finds its old copy under no address.
  const Builder builder = Builder()
                              .launch({}, {{{load({0}), load({1}), barrier(2999), load({2})}}})
                              .launch({download(0, 512)}, {{{load({0})}}});
  const Result result = run_coherent(builder, counters(2), machine);
  const Picoseconds first = 2 * (kInstruction + kRemoteLoad) + 3000 * kInstruction;
  EXPECT_EQ(result.total_ps, first + 2 * (kInstruction + kDramLoad));
  EXPECT_EQ(result.cpu_requests, 0U);
  EXPECT_EQ(result.traffic.returned_to_cpu, 0U);
  EXPECT_EQ(result.traffic.remote_to_cpu, 512U);
}

TEST(ACoherentLink, CarriesWhatTheCpuWritesToTheGpusMemory) {
  const Builder builder =
      Builder().launch({}, {{{load({0})}}}).launch({upload(0, 512)}, {{{load({0})}}});
  const Result result = run_coherent(builder, counters(1));
  // The unit has migrated when the CPU writes half of it; line 0 comes from DRAM.
  EXPECT_EQ(result.traffic.remote_to_gpu, 128U + 512U);
  EXPECT_EQ(result.traffic.migrated_to_gpu, kKiB);
  EXPECT_EQ(result.copy_ps, 512'000U);
}

TEST(ACoherentLink, HasNoQueueForAnEntryOfTheMigrationBuffer) {
  ModelledMachine machine = coherent_machine();
  machine.gmmu.buffer_entries = 1;
  machine.faults.latency_ps = 10'000'000;
  const Builder builder = Builder().launch({}, {{{load({0, 64})}}});
  const Result result = run_coherent(builder, counters(1), machine);
  EXPECT_EQ(result.total_ps, kInstruction + kRemoteLoad + kLineOnLink);
  EXPECT_EQ(result.migrations, 1U);
  EXPECT_EQ(result.buffer_waits, 0U);
}

TEST(ACoherentLink, CountsOnlyWhatCrossesIt) {
  // The second load of line 0 finds it in L2.
  const Builder builder =
      Builder().launch({}, {{{load({0})}}}).launch({}, {{{load({0})}}}).launch({}, {{{load({1})}}});
  EXPECT_EQ(run_coherent(builder, counters(3)).migrations, 0U);
  EXPECT_EQ(run_coherent(builder, counters(2)).migrations, 1U);
}

TEST(ArrivingBytes, KeepTheirDramChannelBusy) {
  pages::MigrationPolicy policy;
  policy.kind = pages::PolicyKind::bitmap;
  policy.unit_bytes = kKiB;
  const Builder builder = Builder().launch({}, {{{load({8})}}});
  ModelledMachine machine = round_machine();
  const Picoseconds before = run_coherent(builder, policy, machine).total_ps;
  machine.partitions.arrivals_in_dram = true;
  const Result result = run_coherent(builder, policy, machine);
  // Eight lines of 8 ns; the load is through the port after 4 ns, and waits for the rest.
  EXPECT_EQ(result.total_ps, before + 8 * 8 * kCycle - 4 * kCycle);
  EXPECT_EQ(result.caches.dram_writes, 8U);
}

}  // namespace
}  // namespace isthmus::sim::small
