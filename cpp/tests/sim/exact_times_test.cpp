// Times that can be calculated by hand, to the picosecond.
#include <gtest/gtest.h>

#include "small_programs.hpp"

namespace isthmus::sim::small {
namespace {

constexpr Picoseconds kLineOnLink = 128 * kCycle;

TEST(ExactTimes, APowerOfTwoClockAndBandwidthAreExact) {
  EXPECT_EQ(cycle_ps(1'000'000'000), 1000U);
  EXPECT_EQ(cycle_ps(700'000'000), 1429U);
  EXPECT_EQ(transfer_ps(2 << 20, 16'000'000'000), 131'072'000U);
  EXPECT_EQ(transfer_ps(1ULL << 40, 16'000'000'000), 68'719'476'736'000U);
}

TEST(ExactTimes, InstructionsOfOneWarpFollowEachOther) {
  const Builder builder = Builder().launch({}, {{{{OpKind::barrier, 9, {}}}}});
  const Result result = run(builder, round_machine(), {}, mode(Mode::ideal));
  EXPECT_EQ(result.total_ps, 10 * 4 * kCycle);
  EXPECT_EQ(result.warp_instructions, 10U);
}

TEST(ExactTimes, ManyWarpsShareTheIssueSlots) {
  // 8 warps of 10 instructions: one a cycle, 80 cycles; a single warp would take 40.
  std::vector<WarpSteps> warps(8, WarpSteps{barrier(9)});
  const Builder builder = Builder().launch({}, {warps});
  EXPECT_EQ(run(builder, round_machine(), {}, mode(Mode::ideal)).total_ps, 80 * kCycle);
}

TEST(ExactTimes, ALoadGoesToDramAndTheNextFindsItInL1) {
  const Builder builder = Builder().launch({}, {{{load({8}), load({8})}}});
  const Result result = run(builder, round_machine(), {}, mode(Mode::ideal));
  // instruction, DRAM, instruction, L1.
  EXPECT_EQ(result.total_ps, 4 * kCycle + kDramLoad + 4 * kCycle + 2 * kCycle);
  EXPECT_EQ(result.caches.l1_hits, 1U);
  EXPECT_EQ(result.caches.dram_reads, 1U);
  EXPECT_EQ(result.line_requests, 2U);
}

TEST(ExactTimes, L2KeepsWhatL1ForgetsBetweenKernels) {
  const Builder builder = Builder().launch({}, {{{load({8})}}}).launch({}, {{{load({8})}}});
  const Result result = run(builder, round_machine(), {}, mode(Mode::ideal));
  EXPECT_EQ(result.total_ps, 4 * kCycle + kDramLoad + 4 * kCycle + kL2Load);
}

TEST(ExactTimes, LinesOfOneLoadFollowEachOtherThroughDram) {
  // The unit takes one a cycle, the port one in 4, and DRAM one in 8, which is the bottleneck.
  const Builder builder = Builder().launch({}, {{{load({0, 1, 2, 3})}}});
  const Result result = run(builder, round_machine(), {}, mode(Mode::ideal));
  EXPECT_EQ(result.total_ps, 4 * kCycle + kDramLoad + 3 * 8 * kCycle);
}

TEST(ExactTimes, AWarpDoesNotWaitForItsStoreAndTheKernelDoes) {
  const Builder builder = Builder().launch({}, {{{store({0})}}});
  const Result result = run(builder, round_machine(), {}, mode(Mode::ideal));
  // instruction, network, port: L2 has it.
  EXPECT_EQ(result.total_ps, (4 + 10 + 4) * kCycle);
}

TEST(ExactTimes, APageWalkDelaysTheFirstAccessToAPage) {
  ModelledMachine machine = round_machine();
  machine.tlb.walk_cycles = 50;
  const Builder builder = Builder().launch({}, {{{load({8}), load({16})}}});
  const Result result = run(builder, machine, {}, mode(Mode::ideal));
  EXPECT_EQ(result.total_ps, (4 + 50) * kCycle + kDramLoad + 4 * kCycle + kDramLoad);
  EXPECT_EQ(result.stalls.translation_ps, 50 * kCycle);
  EXPECT_EQ(result.tlb.accesses, 2U);
  EXPECT_EQ(result.tlb.misses, 1U);
}

TEST(ExactTimes, ABarrierWaitsForTheLastWarp) {
  const Builder builder =
      Builder().launch({}, {{{barrier(0), barrier(0)}, {barrier(99), barrier(0)}}});
  const Result result = run(builder, round_machine(), {}, mode(Mode::ideal));
  // The second warp's 100 instructions, after the first warp's issue slot; then one more for each.
  EXPECT_EQ(result.total_ps, 100 * 4 * kCycle + 4 * kCycle);
  EXPECT_EQ(result.stalls.barrier_ps, (400 - 4) * kCycle);
}

TEST(ExactTimes, AProgrammersCopyComesFirst) {
  const Builder builder = Builder().launch({upload(0, 4096)}, {{{load({8})}}});
  ModelledMachine machine = round_machine();
  machine.link.latency_ps = 500;
  const Result result = run(builder, machine, {}, mode(Mode::programmer));
  EXPECT_EQ(result.total_ps, 4'096'000U + 500U + 4 * kCycle + kDramLoad);
  EXPECT_EQ(result.copy_ps, 4'096'500U);
  EXPECT_EQ(result.traffic.copied_to_gpu, 4096U);
}

TEST(ExactTimes, AMigratedUnitTakesTheLinkAndThenItIsLocal) {
  const Builder builder = Builder().launch({}, {{{load({8}), load({9})}}});
  const Result result = run(builder, round_machine(), units(kKiB), mode(Mode::migrate));
  // To the partition (10), the link (1024 ns), port and DRAM, and back; line 9 is in the same unit.
  EXPECT_EQ(result.total_ps, 4 * kCycle + kDramLoad + 1'024'000U + 4 * kCycle + kDramLoad);
  EXPECT_EQ(result.traffic.migrated_to_gpu, kKiB);
  EXPECT_EQ(result.migrations, 1U);
  EXPECT_EQ(result.stalls.migration_ps, 1'024'000U);
}

TEST(ExactTimes, AWholePageTakesItsWholeLength) {
  pages::MigrationPolicy policy;
  policy.kind = pages::PolicyKind::whole_page;
  const Builder builder = Builder().launch({}, {{{load({8})}}});
  const Result result = run(builder, round_machine(), policy, mode(Mode::migrate));
  EXPECT_EQ(result.total_ps, 4 * kCycle + kDramLoad + 2'097'152'000U);
}

TEST(ExactTimes, ABufferOfOneSerialisesMigrations) {
  // Two lines in two units: with room for both, the link's latency counts once, otherwise twice.
  const Builder builder = Builder().launch({}, {{{load({0, 64})}}});
  ModelledMachine machine = round_machine();
  machine.link.latency_ps = 700'000;
  const Result both = run(builder, machine, units(kKiB), mode(Mode::migrate));
  EXPECT_EQ(both.total_ps, 4 * kCycle + kDramLoad + 2 * 1'024'000U + 700'000U);
  machine.gmmu.buffer_entries = 1;
  const Result one = run(builder, machine, units(kKiB), mode(Mode::migrate));
  EXPECT_EQ(one.total_ps, 4 * kCycle + kDramLoad + 2 * (1'024'000U + 700'000U));
  EXPECT_EQ(one.buffer_waits, 1U);
}

TEST(ExactTimes, AZeroCopyLoadCrossesTheLinkAlone) {
  pages::MigrationPolicy policy;
  policy.kind = pages::PolicyKind::zero_copy;
  const Builder builder = Builder().launch({}, {{{load({8})}}});
  ModelledMachine machine = round_machine();
  machine.link.packet_bytes = 256;
  machine.link.packet_overhead_bytes = 24;
  const Result result = run(builder, machine, policy, mode(Mode::migrate));
  EXPECT_EQ(result.total_ps, (4 + 10) * kCycle + 152'000U + 10 * kCycle);
  EXPECT_EQ(result.traffic.remote_to_gpu, 128U);
}

TEST(ExactTimes, AnAtomicIsDoneInL2AndWaitedFor) {
  const Builder builder =
      Builder().launch({}, {{{load({8}), {OpKind::atomic, 0, {8}}, load({8})}}});
  const Result result = run(builder, round_machine(), {}, mode(Mode::ideal));
  // L1 drops the line that is changed in memory.
  EXPECT_EQ(result.total_ps, 3 * 4 * kCycle + kDramLoad + 2 * kL2Load);
}

TEST(ExactTimes, AStoreMakesL1ForgetItsLine) {
  const Builder builder = Builder().launch({}, {{{load({8}), store({8}), load({8})}}});
  const Result result = run(builder, round_machine(), {}, mode(Mode::ideal));
  // The store occupies the unit for a cycle, and its warp continues.
  EXPECT_EQ(result.total_ps, 3 * 4 * kCycle + kDramLoad + kCycle + kL2Load);
}

TEST(ExactTimes, LocalMemoryStaysInL1UntilItIsDisplaced) {
  const Builder builder =
      Builder().launch({}, {{{{OpKind::local_store, 0, {0}}, {OpKind::local_load, 0, {0}}}}});
  const Result result = run(builder, round_machine(), {}, mode(Mode::ideal));
  // One cycle of the unit, and two of the L1 hit.
  EXPECT_EQ(result.total_ps, 2 * 4 * kCycle + kCycle + 2 * kCycle);
  EXPECT_EQ(result.caches.l2_hits + result.caches.l2_misses, 0U);
}

TEST(ExactTimes, LocalMemoryMigratesOnlyIfItIsToldTo) {
  const Builder builder = Builder().launch({}, {{{{OpKind::local_load, 0, {0}}}}});
  Options options = mode(Mode::migrate);
  EXPECT_EQ(run(builder, round_machine(), units(kKiB), options).migrations, 0U);
  options.local_memory = LocalMemory::migrates;
  const Result result = run(builder, round_machine(), units(kKiB), options);
  EXPECT_EQ(result.total_ps, 4 * kCycle + kDramLoad + 1'024'000U);
}

TEST(ExactTimes, AProgrammerMayCopyOnlyWhatIsTouched) {
  const Builder builder = Builder().launch({upload(0, 1 << 20)}, {{{load({8, 9}), load({8})}}});
  Options options = mode(Mode::programmer);
  options.programmer_data = ProgrammerData::touched_global;
  const Result result = run(builder, round_machine(), {}, options);
  EXPECT_EQ(result.copy_ps, 2 * 128'000U);
  EXPECT_EQ(result.total_ps, result.kernel_ps + result.copy_ps);
}

TEST(ExactTimes, AnEvictedPageGoesBackBeforeTheNextComes) {
  pages::MigrationPolicy policy;
  policy.kind = pages::PolicyKind::whole_page;
  Options options = mode(Mode::migrate);
  options.eviction.limit_bytes = 2 << 20;
  const Builder builder = Builder().launch({}, {{{load({0}), load({16384})}}});
  const Result result = run(builder, round_machine(), policy, options);
  EXPECT_EQ(result.total_ps, 2 * (4 * kCycle + kDramLoad) + 3 * 2'097'152'000ULL);
  EXPECT_EQ(result.traffic.evicted_to_cpu, 2U << 20);
}

TEST(ExactTimes, AWriteWithoutFetchWaitsUntilThePageThatMakesRoomIsBack) {
  pages::MigrationPolicy policy;
  policy.kind = pages::PolicyKind::bitmap;
  policy.unit_bytes = 128;
  policy.write = pages::WriteMiss::validate;
  const Builder builder = Builder().launch({}, {{{store({0}), store({16384}), store({32768})}}});
  const Result roomy = run(builder, round_machine(), policy, mode(Mode::migrate));
  Options options = mode(Mode::migrate);
  options.eviction.limit_bytes = 2 << 20;
  const Result tight = run(builder, round_machine(), policy, options);
  EXPECT_EQ(tight.evictions, 2U);
  EXPECT_EQ(tight.traffic.evicted_to_cpu, 2 * 128U);
  // The second eviction follows the first one, which began when the second write asked: five cycles
  // before the third, four for its instruction and one for the write.
  EXPECT_EQ(tight.total_ps, roomy.total_ps + 2 * kLineOnLink - 5 * kCycle);
}

TEST(ExactTimes, AMissInTheSharedTlbIsWalked) {
  ModelledMachine machine = round_machine();
  machine.tlb.shared_entries = 16;
  machine.tlb.shared_cycles = 5;
  machine.tlb.walk_cycles = 50;
  // Two kernels on two cores: the second core's first access uses the result of the first one's
  // walk.
  machine.cores.count = 2;
  machine.cores.max_ctas = 1;
  const Builder builder = Builder().launch({}, {{{load({8})}}, {{barrier(99), load({16})}}});
  const Result result = run(builder, machine, {}, mode(Mode::ideal));
  EXPECT_EQ(result.tlb.shared_accesses, 2U);
  EXPECT_EQ(result.tlb.shared_misses, 1U);
  EXPECT_EQ(result.total_ps, 101 * 4 * kCycle + 5 * kCycle + kDramLoad);
}

TEST(ExactTimes, MissesUnderWayLimitTheLoadsAtOnce) {
  ModelledMachine machine = round_machine();
  machine.l1.misses = 1;
  const Builder builder = Builder().launch({}, {{{load({0, 1})}}});
  const Result result = run(builder, machine, {}, mode(Mode::ideal));
  EXPECT_EQ(result.total_ps, 4 * kCycle + 2 * kDramLoad);
}

TEST(ExactTimes, StoresThatNoPartitionHasTakenLimitTheStoresAtOnce) {
  // Two stores to one page: the second one waits for the first's migration, or asks for its own.
  ModelledMachine machine = round_machine();
  pages::MigrationPolicy policy;
  policy.kind = pages::PolicyKind::whole_page;
  policy.page_bytes = 4 * kKiB;
  policy.merge = false;
  const Builder builder = Builder().launch({}, {{{store({0}), store({1}), load({64})}}});
  const Result free = run(builder, machine, policy, mode(Mode::migrate));
  EXPECT_EQ(free.migrations, 3U);
  machine.cores.stores = 1;
  const Result bounded = run(builder, machine, policy, mode(Mode::migrate));
  EXPECT_EQ(bounded.migrations, 2U);
  // store, its page, the second store as it arrives, the load's page a cycle and 10 after that.
  const Picoseconds page_ps = 4096 * kCycle;
  EXPECT_EQ(bounded.total_ps,
            4 * kCycle + 10 * kCycle + page_ps + 5 * kCycle + page_ps + kDramLoad);
}

TEST(ExactTimes, EveryRequestReadsAPagesStateAndEachMigrationChangesIt) {
  const Builder builder = Builder().launch({}, {{{load({8}), load({16})}}});
  ModelledMachine machine = round_machine();
  const Picoseconds free = run(builder, machine, units(kKiB), mode(Mode::migrate)).total_ps;
  machine.gmmu.query_cycles = 30;
  const Picoseconds queried = run(builder, machine, units(kKiB), mode(Mode::migrate)).total_ps;
  EXPECT_EQ(queried, free + 2 * 30 * kCycle);
  machine.gmmu.change_cycles = 50;
  const Picoseconds changed = run(builder, machine, units(kKiB), mode(Mode::migrate)).total_ps;
  EXPECT_EQ(changed, queried + 2 * 50 * kCycle);
}

TEST(ExactTimes, AChangedRangeMakesItsTranslationInvalidIfTheTlbHoldsIt) {
  // Three units of a page: its entry is missing at first, and again after each of them has arrived.
  const Builder builder = Builder().launch({}, {{{load({0}), load({8}), load({16})}}});
  ModelledMachine machine = round_machine();
  machine.tlb.walk_cycles = 100;
  EXPECT_EQ(run(builder, machine, units(kKiB), mode(Mode::migrate)).tlb.misses, 1U);
  machine.gmmu.range_in_tlb = true;
  const Result result = run(builder, machine, units(kKiB), mode(Mode::migrate));
  EXPECT_EQ(result.tlb.misses, 3U);
  EXPECT_EQ(result.caches.l1_misses, 3U);
}

TEST(ExactTimes, ARequestThatWaitsForAnothersMigrationMayTakeAnEntryToo) {
  // Two lines of one unit, then one of another: that waits if the first two have both entries.
  const Builder builder = Builder().launch({}, {{{load({0, 1, 64})}}});
  ModelledMachine machine = round_machine();
  machine.link.latency_ps = 700'000;
  machine.gmmu.buffer_entries = 2;
  Options options = mode(Mode::migrate);
  const Result free = run(builder, machine, units(kKiB), options);
  EXPECT_EQ(free.buffer_waits, 0U);
  options.merged_waiters = MergedWaiters::take_entries;
  const Result held = run(builder, machine, units(kKiB), options);
  EXPECT_EQ(held.buffer_waits, 1U);
  EXPECT_EQ(held.total_ps, free.total_ps + 700'000U);
  EXPECT_EQ(held.migrations, 2U);
}

TEST(ExactTimes, AFilledGapThatAdjoinsItsUnitIsOneTransfer) {
  // Two ranges at most: the third unit's smallest gap is beside it.
  pages::MigrationPolicy policy;
  policy.kind = pages::PolicyKind::ranges;
  policy.request = pages::RequestedLength::unit;
  policy.max_ranges = 2;
  const Builder builder = Builder().launch({}, {{{load({0}), load({800}), load({16})}}});
  ModelledMachine machine = round_machine();
  machine.link.latency_ps = 700'000;
  const Result result = run(builder, machine, policy, mode(Mode::migrate));
  EXPECT_EQ(result.traffic.migrated_to_gpu, 4 * kKiB);
  EXPECT_EQ(result.transfers, 3U);
}

TEST(ExactTimes, AnOperationMayComeAfterAsManyInstructionsAsATraceCanSay) {
  const Builder builder = Builder().launch({}, {{{barrier(0xffff'ffff)}}});
  const Result result = run(builder, round_machine(), {}, mode(Mode::ideal));
  EXPECT_EQ(result.total_ps, (std::uint64_t{1} << 32U) * 4 * kCycle);
}

TEST(ExactTimes, ACpuRequestBringsThePageBackAndTheNextKernelAsksAgain) {
  const Builder builder =
      Builder().launch({}, {{{load({8})}}}).launch({download(0, 4)}, {{{load({8})}}});
  Options options = mode(Mode::migrate);
  const Result free = run(builder, round_machine(), units(kKiB), options);
  const Picoseconds kernel = 4 * kCycle + kDramLoad + 1'024'000U;
  EXPECT_EQ(free.total_ps, 2 * kernel);
  EXPECT_EQ(free.cpu_requests, 1U);
  EXPECT_EQ(free.traffic.returned_to_cpu, kKiB);
  options.count_downloads = true;
  EXPECT_EQ(run(builder, round_machine(), units(kKiB), options).total_ps, 2 * kernel + 1'024'000U);
  // One page fault of the CPU, for a page of 4 KiB.
  ModelledMachine slow = round_machine();
  slow.faults.back_fault_ps = 7'000'000;
  slow.faults.back_page_ps = 300'000;
  slow.faults.back_prefetch_ps = 1;  // of other policies
  const Result late = run(builder, slow, units(kKiB), options);
  EXPECT_EQ(late.total_ps, 2 * kernel + 1'024'000U + 7'300'000U);
  EXPECT_EQ(late.returned_faults, 1U);
  EXPECT_EQ(late.returned_pages, 1U);
}

TEST(ExactTimes, ACopyThatIsMadeAgainTakesNothingBackAndAProgrammerPaysForItEachTime) {
  const trace::HostStep again{trace::HostStep::Kind::upload_again, 0, kKiB};
  const Builder builder =
      Builder().launch({again}, {{{load({4})}}}).launch({again}, {{{load({5})}}});
  const Result migrated = run(builder, round_machine(), units(kKiB), mode(Mode::migrate));
  EXPECT_EQ(migrated.cpu_requests, 0U);
  EXPECT_EQ(migrated.traffic.migrated_to_gpu, kKiB);
  EXPECT_EQ(migrated.traffic.returned_to_cpu, 0U);
  const Result copied = run(builder, round_machine(), {}, mode(Mode::programmer));
  EXPECT_EQ(copied.traffic.copied_to_gpu, 2 * kKiB);
  EXPECT_EQ(copied.total_ps, 2 * (1'024'000U + 4 * kCycle + kDramLoad));
}

TEST(ExactTimes, ACpuRequestForTheWholeAddressSpaceCostsNoMoreThanWhatWasTouched) {
  const std::uint64_t everything = std::uint64_t{1} << 57U;
  const Builder builder = Builder()
                              .launch({}, {{{load({8}), load({1U << 20U})}}})
                              .launch({download(0, everything)}, {{{load({8})}}});
  const Result result = run(builder, round_machine(), units(kKiB), mode(Mode::migrate));
  EXPECT_EQ(result.cpu_requests, 2U);
  EXPECT_EQ(result.traffic.returned_to_cpu, 2 * kKiB);
}

}  // namespace
}  // namespace isthmus::sim::small
