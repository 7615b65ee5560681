// The bound below every policy: exact where one limit decides, and below the time of any run.
#include <gtest/gtest.h>

#include "../policy_kinds.hpp"
#include "random_programs.hpp"

namespace isthmus::sim::small {
namespace {

constexpr std::uint64_t kSeeds = 12;

Result ideal(const Builder& builder, const ModelledMachine& machine = round_machine()) {
  return run(builder, machine, {}, mode(Mode::ideal));
}

TEST(LeastTime, OfOneWarpIsItsChainOfInstructionsWhichTheRunTakes) {
  ModelledMachine machine = round_machine();
  machine.launch.latency_ps = 5000;
  const Builder builder = Builder().launch({}, {{{barrier(9)}}}).launch({}, {{{barrier(4)}}});
  const Result result = ideal(builder, machine);
  EXPECT_EQ(result.least_ps, 15 * 4 * kCycle + 2 * 5000);
  EXPECT_EQ(result.total_ps, result.least_ps);
}

TEST(LeastTime, OfManyWarpsIsThatOfTheIssueSlotsWhichTheRunTakes) {
  const Result result = ideal(Builder().launch({}, {std::vector<WarpSteps>(8, {barrier(9)})}));
  EXPECT_EQ(result.least_ps, 80 * kCycle);
  EXPECT_EQ(result.total_ps, result.least_ps);
}

TEST(LeastTime, OfMoreWarpsThanRunAtOnceIsTheirSumOverTheirNumber) {
  ModelledMachine machine = round_machine();
  machine.cores.max_ctas = 2;
  // Six CTAs of a warp of 40 cycles, two at a time: three rounds.
  const std::vector<std::vector<WarpSteps>> ctas(6, {{barrier(9)}});
  EXPECT_EQ(ideal(Builder().launch({}, ctas), machine).least_ps, 3 * 40 * kCycle);
}

TEST(LeastTime, OfALoadIsThatOfItsLinesAndOfAHitInTheFirstCache) {
  const Result result = ideal(Builder().launch({}, {{{load({0, 1, 2, 3})}}}));
  EXPECT_EQ(result.least_ps, (4 + 3 + 2) * kCycle);
}

TEST(LeastTime, OfAStoreAndAnAtomicIsThatOfTheUnitAndOfTheWayToThePartition) {
  EXPECT_EQ(ideal(Builder().launch({}, {{{store({0, 1})}}})).least_ps, (4 + 2) * kCycle);
  const Builder atomic = Builder().launch({}, {{{{OpKind::atomic, 0, {0}}}}});
  EXPECT_EQ(ideal(atomic).least_ps, (4 + 2 * 10) * kCycle);
}

TEST(LeastTime, IsTheLinksIfThatIsBusyLonger) {
  const Builder builder = Builder().launch({upload(0, 4096)}, {{{load({8})}}});
  EXPECT_EQ(run(builder, round_machine(), {}, mode(Mode::programmer)).least_ps, 4'096'000U);
}

TEST(LeastTime, OfTheSameProgramIsTheSameForAllThatMovesNothing) {
  const RandomProgram program = random_program(1);
  Options resident = mode(Mode::migrate);
  resident.initially = Initially::on_gpu;
  const Result all = run(program.builder, two_core_machine(), {}, resident);
  EXPECT_EQ(all.least_ps, ideal(program.builder, two_core_machine()).least_ps);
}

/// Random programs that copy, so that every mode moves bytes.
Builder copying(std::uint64_t seed) {
  RandomProgram program = random_program(seed, 20'000);
  program.builder.before(0, {upload(0, 20'000 * 128)});
  program.builder.before(1, {download(0, 4096), upload(4096, 4096)});
  return program.builder.after({download(0, 65536)});
}

TEST(LeastTime, NoRunIsBelowIt) {
  std::vector<ModelledMachine> machines(5, two_core_machine());
  machines[1].link.bytes_per_s = 1'000'000'000'000;
  machines[2].link.half_duplex = true;
  machines[2].launch.latency_ps = 1'000'000;
  machines[3].l1.size_bytes = 0;
  machines[4].link.coherent = true;
  machines[4].faults.latency_ps = 2'000'000;
  for (const ModelledMachine& machine : machines) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const Builder builder = copying(seed);
      Options options = mode(Mode::migrate);
      options.count_downloads = seed % 2 == 0;
      if (seed % 3 == 0) options.eviction.limit_bytes = 2U << 20U;
      const Result resident = ideal(builder, machine);
      EXPECT_GE(resident.total_ps, resident.least_ps);
      for (const Mode other : {Mode::programmer, Mode::overlapped}) {
        options.mode = other;
        const Result result = run(builder, machine, {}, options);
        EXPECT_GE(result.total_ps, result.least_ps);
        EXPECT_GE(result.least_ps, resident.least_ps);
      }
      options.mode = Mode::migrate;
      for (const pages::NamedKind& name : pages::policy_kinds()) {
        pages::MigrationPolicy policy = pages::default_policy(name.kind);
        policy.counter_threshold = 3;
        const Result result = run(builder, machine, policy, options);
        EXPECT_GE(result.total_ps, result.least_ps) << name.name << " " << seed;
        EXPECT_GE(result.least_ps, resident.least_ps) << name.name << " " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace isthmus::sim::small
