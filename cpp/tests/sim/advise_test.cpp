// Managed memory with advice: times and bytes that can be calculated by hand.
#include <gtest/gtest.h>

#include "random_programs.hpp"
#include "sim/migration/hinted_memory.hpp"

namespace isthmus::sim::small {
namespace {

constexpr std::uint64_t kMiB = kKiB * kKiB;
constexpr Picoseconds kKiBOnLink = 1'024'000;
constexpr Picoseconds kLineOnLink = 128'000;
// What waited for a migration: port, DRAM, L2, network.
constexpr Picoseconds kAfterArrival = (4 + 8 + 100 + 20 + 10) * kCycle;
// A line over the link: the instruction, and the network there and back.
constexpr Picoseconds kInPlace = 4 * kCycle + kLineOnLink + (10 + 10) * kCycle;

pages::MigrationPolicy lines() {
  pages::MigrationPolicy policy;
  policy.kind = pages::PolicyKind::bitmap;
  policy.unit_bytes = 128;
  return policy;
}

Options advised() {
  Options options = mode(Mode::migrate);
  options.hints = Hints::advise;
  return options;
}

Result run_advised(const Builder& builder, const ModelledMachine& machine = round_machine()) {
  return run(builder, machine, lines(), advised());
}

Step atomic(std::vector<std::uint64_t> at) { return {OpKind::atomic, 0, std::move(at)}; }

/// Eight loads of each line of 1 KiB: more than prefetching moves.
WarpSteps often(std::uint64_t first_line) {
  WarpSteps steps;
  for (int turn = 0; turn < 2; ++turn) {
    for (std::uint64_t line = 0; line < 8; ++line) steps.push_back(load({first_line + line}));
  }
  return steps;
}

TEST(Advice, ReadsInPlaceWhatIsAskedForLessOftenThanItIsLong) {
  const Builder builder =
      Builder().allocate(0, 4 * kKiB).launch({upload(0, 4 * kKiB)}, {{{load({8})}}});
  const Result result = run_advised(builder);
  EXPECT_EQ(result.traffic.migrated_to_gpu, 0U);
  EXPECT_EQ(result.traffic.remote_to_gpu, 128U);
  EXPECT_EQ(result.advised_in_place, 1U);
  EXPECT_EQ(result.total_ps, kInPlace);
}

TEST(Advice, BringsWhatIsAskedForMoreOftenWithoutAFault) {
  ModelledMachine machine = round_machine();
  machine.faults.latency_ps = 10'000'000'000;
  const Builder builder = Builder().allocate(0, kKiB).launch({upload(0, kKiB)}, {{often(0)}});
  const Result result = run_advised(builder, machine);
  EXPECT_EQ(result.traffic.migrated_to_gpu, kKiB);
  EXPECT_EQ(result.traffic.remote_to_gpu, 0U);
  EXPECT_EQ(result.advised_read_mostly, 1U);
  EXPECT_GE(result.total_ps, kKiBOnLink + kAfterArrival);
  EXPECT_LT(result.total_ps, machine.faults.latency_ps);
}

TEST(Advice, MakesOnTheGpuWhatTheCpuHasNotWritten) {
  const Builder builder = Builder().allocate(0, kKiB).launch({}, {{{store({0}), load({1})}}});
  const Result result = run_advised(builder);
  EXPECT_EQ(result.traffic.migrated_to_gpu + result.traffic.remote_to_gpu, 0U);
  EXPECT_EQ(result.traffic.remote_to_cpu, 0U);
}

TEST(Advice, TakesBackThePagesThatTheCpuAccessesAndNoMore) {
  // Results of 64 KiB, of which the CPU reads one byte: a page of 4 KiB leaves, and comes again.
  const Builder builder = Builder()
                              .allocate(0, 64 * kKiB)
                              .launch({}, {{{store({0})}}})
                              .launch({download(5 * kKiB, 1)}, {{{store({0})}}});
  const Result result = run_advised(builder);
  EXPECT_EQ(result.traffic.returned_to_cpu, 4 * kKiB);
  EXPECT_EQ(result.traffic.migrated_to_gpu, 4 * kKiB);
}

TEST(Advice, KeepsACopyOfWhatIsMostlyReadWhileTheCpuReads) {
  const Builder builder = Builder()
                              .allocate(0, kKiB)
                              .launch({upload(0, kKiB)}, {{often(0)}})
                              .launch({download(0, kKiB)}, {{often(0)}});
  const Result result = run_advised(builder);
  EXPECT_EQ(result.traffic.returned_to_cpu, 0U);
  EXPECT_EQ(result.traffic.migrated_to_gpu, kKiB);
}

TEST(Advice, BringsAgainWhatTheCpuHasWrittenAndMovesNothingBack) {
  const Builder builder =
      Builder()
          .allocate(0, 16 * kKiB)
          .launch({upload(0, 4 * kKiB)}, {{often(0), often(8), often(16), often(24)}})
          .launch({upload(0, 128)}, {{often(0), often(8), often(16), often(24)}});
  const Result result = run_advised(builder);
  EXPECT_EQ(result.traffic.returned_to_cpu, 0U);
  EXPECT_EQ(result.traffic.migrated_to_gpu, (16 + 4) * kKiB);
}

TEST(Advice, ReadsOverTheLinkWhatHasNoRoom) {
  const Builder builder =
      Builder()
          .allocate(0, 2 * kMiB)
          .allocate(2 * kMiB, kKiB)
          .launch({upload(0, kKiB), upload(2 * kMiB, kKiB)}, {{often(0), often(16384)}});
  Options options = advised();
  options.eviction.limit_bytes = 2 * kMiB;
  const Result result = run(builder, round_machine(), lines(), options);
  EXPECT_EQ(result.traffic.migrated_to_gpu, 2 * kMiB);
  EXPECT_EQ(result.traffic.remote_to_gpu, kKiB);  // the second time they are in L1
  EXPECT_EQ(result.evictions, 0U);
}

TEST(Advice, NeverLeavesAtomicsInPlace) {
  const Builder builder =
      Builder().allocate(0, 4 * kKiB).launch({upload(0, 4 * kKiB)}, {{{atomic({8})}}});
  EXPECT_EQ(run_advised(builder).traffic.migrated_to_gpu, 4 * kKiB);
}

TEST(Advice, LeavesInPlaceWhatADriverWouldTakeLongerToPrefetch) {
  ModelledMachine machine = round_machine();
  const Builder builder = Builder().allocate(0, kKiB).launch({upload(0, kKiB)}, {{often(0)}});
  EXPECT_EQ(run_advised(builder, machine).traffic.remote_to_gpu, 0U);
  machine.faults.prefetch_ps = 2 * kKiBOnLink;
  const Result result = run_advised(builder, machine);
  EXPECT_EQ(result.traffic.migrated_to_gpu, 0U);
  EXPECT_EQ(result.traffic.remote_to_gpu, kKiB);
}

TEST(APrefetch, TakesTheDriversTimeForEachAllocationAndBlock) {
  ModelledMachine machine = round_machine();
  machine.faults.prefetch_ps = 5'000'000;
  machine.faults.prefetch_block_ps = 1'000'000;
  Options options = mode(Mode::migrate);
  options.hints = Hints::prefetch;
  // The last line of the second block.
  const Builder builder = Builder().allocate(0, 4 * kMiB).launch({}, {{{load({32767})}}});
  const Result result = run(builder, machine, lines(), options);
  EXPECT_EQ(result.total_ps, 7'000'000 + 4096 * kKiBOnLink + kAfterArrival);
}

TEST(Advice, ServesEveryRequestOfRandomPrograms) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    RandomProgram program = random_program(seed, 3 * 16384);  // three pages
    program.builder.allocate(0, 3 * kMiB).allocate(3 * kMiB, 3 * kMiB);
    program.builder.before(0, {upload(kMiB, kMiB), upload(3 * kMiB, kMiB)});
    program.builder.before(1, {download(kMiB, 4096), upload(4 * kMiB, 4096)});
    Options options = advised();
    if (seed % 2 == 0) options.eviction.limit_bytes = 4 * kMiB;
    ModelledMachine machine = two_core_machine();
    machine.link.coherent = seed % 3 == 0;
    const Result result = run(program.builder, machine, lines(), options);
    const Result ideal = run(program.builder, machine, {}, mode(Mode::ideal));
    EXPECT_EQ(result.line_requests, ideal.line_requests);
    EXPECT_GE(result.total_ps, result.least_ps);
    EXPECT_EQ(result.fault_batches, 0U);
  }
}

// --- what the programmer copies, and the CPU's requests
// -------------------------------------------------------------

Result run_programmer(const Builder& builder, ProgrammerData data) {
  Options options = mode(Mode::programmer);
  options.programmer_data = data;
  return run(builder, round_machine(), lines(), options);
}

TEST(AProgrammersCopies, CanBeOfWholePagesThatAreTouched) {
  const Builder builder =
      Builder().launch({upload(0, kKiB)}, {{{load({0}), load({1}), store({3 * 16384})}}});
  const Result result = run_programmer(builder, ProgrammerData::touched_pages);
  EXPECT_EQ(result.traffic.copied_to_gpu, 2 * 2 * kMiB);
}

TEST(AProgrammersCopies, CanBeOfWhatIsTouchedIfNothingElseIsCopied) {
  const Builder without = Builder().launch({}, {{{load({0}), store({9})}}}).after({download(0, 4)});
  EXPECT_EQ(run_programmer(without, ProgrammerData::uploads).traffic.copied_to_gpu, 0U);
  EXPECT_EQ(run_programmer(without, ProgrammerData::uploads_or_touched).traffic.copied_to_gpu,
            256U);
  const Builder with = Builder().launch({upload(0, kKiB)}, {{{load({0}), store({9})}}});
  EXPECT_EQ(run_programmer(with, ProgrammerData::uploads_or_touched).traffic.copied_to_gpu, kKiB);
}

TEST(TheCpusRequests, CanBeLeftOut) {
  const Builder builder =
      Builder().launch({}, {{{load({0})}}}).launch({download(0, 1)}, {{{load({0})}}});
  Options options = mode(Mode::migrate);
  EXPECT_EQ(run(builder, round_machine(), lines(), options).traffic.migrated_to_gpu, 256U);
  options.cpu_requests = CpuRequests::left_out;
  const Result result = run(builder, round_machine(), lines(), options);
  EXPECT_EQ(result.traffic.migrated_to_gpu, 128U);
  EXPECT_EQ(result.cpu_requests, 0U);
}

}  // namespace
}  // namespace isthmus::sim::small
