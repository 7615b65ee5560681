// What must hold for any program, checked on random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "../policy_kinds.hpp"
#include "random_programs.hpp"

namespace isthmus::sim::small {
namespace {

using pages::MigrationPolicy;
using pages::PolicyKind;

constexpr std::uint64_t kSeeds = 12;

MigrationPolicy policy_of(PolicyKind kind, std::uint32_t unit_bytes = 1024) {
  MigrationPolicy policy = pages::default_policy(kind);
  if (kind == PolicyKind::bitmap || kind == PolicyKind::ranges) policy.unit_bytes = unit_bytes;
  return policy;
}

Result migrate(const RandomProgram& program, const ModelledMachine& machine,
               const MigrationPolicy& policy) {
  return run(program.builder, machine, policy, mode(Mode::migrate));
}

std::uint64_t units_touched(const RandomProgram& program, std::uint32_t unit_bytes) {
  std::set<std::uint64_t> units;
  for (const std::uint64_t line : program.lines) units.insert(line * 128 / unit_bytes);
  return units.size();
}

TEST(Invariants, BytesMovedAreTheUnionOfTheUnitsAskedFor) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomProgram program = random_program(seed);
    for (const std::uint32_t unit : {128U, 1024U, 65536U, 2U << 20}) {
      const Result result =
          migrate(program, two_core_machine(), policy_of(PolicyKind::bitmap, unit));
      EXPECT_EQ(result.traffic.migrated_to_gpu, units_touched(program, unit) * unit);
      EXPECT_EQ(result.touched_bytes, program.lines.size() * 128);
    }
  }
}

TEST(Invariants, BytesMovedRiseWithTheUnit) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomProgram program = random_program(seed);
    std::uint64_t before = 0;
    for (std::uint32_t unit = 128; unit <= 2U << 20; unit *= 4) {
      const std::uint64_t bytes =
          migrate(program, two_core_machine(), policy_of(PolicyKind::bitmap, unit))
              .traffic.migrated_to_gpu;
      EXPECT_GE(bytes, before);
      before = bytes;
    }
  }
}

TEST(Invariants, WhatIsAllResidentRunsAsTheIdealDoes) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomProgram program = random_program(seed);
    Options options = mode(Mode::migrate);
    options.initially = Initially::on_gpu;
    const Result resident = run(program.builder, two_core_machine(), {}, options);
    const Result ideal = run(program.builder, two_core_machine(), {}, mode(Mode::ideal));
    EXPECT_EQ(resident.total_ps, ideal.total_ps);
    EXPECT_EQ(resident.event_digest, ideal.event_digest);
    EXPECT_EQ(resident.migrations, 0U);
  }
}

// Each transfer still takes a picosecond, which changes the order of requests: a few percent of so
// small a program's time in either direction, almost nothing on average.
TEST(Invariants, WithAnEndlessBandwidthMigrationTendsToTheIdeal) {
  double sum = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomProgram program = random_program(seed);
    ModelledMachine machine = two_core_machine();
    machine.link.bytes_per_s = 1'000'000'000'000'000'000;
    const Result result = migrate(program, machine, policy_of(PolicyKind::bitmap));
    const Result ideal = run(program.builder, machine, {}, mode(Mode::ideal));
    const double ratio = static_cast<double>(result.total_ps) / static_cast<double>(ideal.total_ps);
    EXPECT_NEAR(ratio, 1, 0.05);
    sum += ratio;
  }
  EXPECT_NEAR(sum / static_cast<double>(kSeeds), 1, 0.01);
}

TEST(Invariants, AUnitAsLargeAsThePageIsTheWholePage) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomProgram program = random_program(seed);
    const Result whole = migrate(program, two_core_machine(), policy_of(PolicyKind::whole_page));
    const Result unit =
        migrate(program, two_core_machine(), policy_of(PolicyKind::bitmap, 2U << 20));
    EXPECT_EQ(whole.total_ps, unit.total_ps);
    EXPECT_EQ(whole.event_digest, unit.event_digest);
  }
}

TEST(Invariants, RatiosToTheProgrammersTimeDontRiseWithBandwidth) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    RandomProgram program = random_program(seed);
    Options programmer = mode(Mode::programmer);
    programmer.programmer_data = ProgrammerData::touched_global;
    double before = 1e300;
    for (const std::uint64_t bandwidth : {4U, 16U, 32U, 96U}) {
      ModelledMachine machine = two_core_machine();
      machine.link.bytes_per_s = bandwidth * 1'000'000'000ULL;
      MigrationPolicy policy = policy_of(PolicyKind::whole_page);
      policy.merge = false;
      const double ratio =
          static_cast<double>(migrate(program, machine, policy).total_ps) /
          static_cast<double>(run(program.builder, machine, {}, programmer).total_ps);
      EXPECT_LE(ratio, before);
      before = ratio;
    }
  }
}

/// Spans of migrations, in order of their ends.
class Migrations : public Observer {
public:
  void migrated(std::uint64_t /*address*/, std::uint64_t /*size_bytes*/, Span span) override {
    spans.push_back(span);
  }
  std::vector<Span> spans;
};

TEST(Invariants, ABufferOfOneHasOneMigrationAtATime) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomProgram program = random_program(seed);
    ModelledMachine machine = two_core_machine();
    machine.gmmu.buffer_entries = 1;
    Options options = mode(Mode::migrate);
    options.buffer_scope = BufferScope::total;
    Migrations migrations;
    run(program.builder, machine, policy_of(PolicyKind::bitmap), options, &migrations);
    ASSERT_GT(migrations.spans.size(), 1U);
    for (std::size_t i = 1; i < migrations.spans.size(); ++i) {
      EXPECT_GE(migrations.spans[i].start_ps, migrations.spans[i - 1].end_ps);
    }
  }
}

TEST(Invariants, EqualRunsAreEqualInAnyNumberOfThreads) {
  const RandomProgram program = random_program(7);
  const auto recording = program.builder.recording();
  std::vector<Result> results(6);
  std::vector<std::thread> threads;
  for (Result& result : results) {
    threads.emplace_back([&recording, &result] {
      trace::Replay replay(recording);
      result = simulate(two_core_machine(), policy_of(PolicyKind::ranges), {}, replay);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Result& result : results) {
    EXPECT_EQ(result.event_digest, results.front().event_digest);
    EXPECT_EQ(result.total_ps, results.front().total_ps);
    EXPECT_EQ(result.utilisation.to_gpu_ps, results.front().utilisation.to_gpu_ps);
  }
}

TEST(Invariants, EveryPolicyServesEveryRequest) {
  for (const pages::NamedKind& name : pages::policy_kinds()) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      for (const bool merge : {true, false}) {
        const RandomProgram program = random_program(seed, 20'000);
        MigrationPolicy policy = pages::default_policy(name.kind);
        policy.merge = merge;
        policy.counter_threshold = 3;
        const Result result = migrate(program, two_core_machine(), policy);
        const Result ideal = run(program.builder, two_core_machine(), {}, mode(Mode::ideal));
        EXPECT_EQ(result.line_requests, ideal.line_requests) << name.name;
        EXPECT_EQ(result.warp_instructions, ideal.warp_instructions) << name.name;
        EXPECT_EQ(result.num_ctas, ideal.num_ctas) << name.name;
      }
    }
  }
}

TEST(Invariants, CountersWithSeparateRequestsServeAllInMemoryThatIsTooSmall) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomProgram program = random_program(seed, 3 * 16384);  // three pages
    MigrationPolicy policy = pages::default_policy(PolicyKind::access_counter);
    policy.counter_threshold = 3;
    policy.merge = false;
    Options options = mode(Mode::migrate);
    options.eviction.limit_bytes = 2ULL * (2U << 20U);
    const Result result = run(program.builder, two_core_machine(), policy, options);
    const Result ideal = run(program.builder, two_core_machine(), {}, mode(Mode::ideal));
    EXPECT_EQ(result.line_requests, ideal.line_requests);
    EXPECT_GT(result.evictions, 0U);
  }
}

TEST(Invariants, ABatchingDriverServesAllInMemoryThatIsTooSmall) {
  ModelledMachine machine = two_core_machine();
  machine.faults = {3'000'000, Handling::batch, 4};
  for (const pages::NamedKind& name : pages::policy_kinds()) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const RandomProgram program = random_program(seed, 3 * 16384);  // three pages
      MigrationPolicy policy = pages::default_policy(name.kind);
      policy.counter_threshold = 3;
      policy.merge = seed % 2 == 0;
      machine.gmmu.buffer_entries = seed % 3 == 0 ? 2 : 128;
      Options options = mode(Mode::migrate);
      options.eviction.limit_bytes = (1 + seed % 2) * (2ULL << 20U);
      const Result result = run(program.builder, machine, policy, options);
      const Result ideal = run(program.builder, machine, {}, mode(Mode::ideal));
      EXPECT_EQ(result.line_requests, ideal.line_requests) << name.name;
    }
  }
}

TEST(Invariants, EveryPolicyServesEveryRequestOnACoherentLink) {
  ModelledMachine machine = two_core_machine();
  machine.link.coherent = true;
  machine.partitions.arrivals_in_dram = true;
  machine.gmmu.buffer_entries = 2;
  machine.faults = {3'000'000, Handling::batch, 4};
  for (const pages::NamedKind& name : pages::policy_kinds()) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      RandomProgram program = random_program(seed, 3 * 16384);  // three pages
      program.builder.before(1, {upload(0, 1U << 20U), download(1U << 20U, 4096)});
      MigrationPolicy policy = pages::default_policy(name.kind);
      policy.counter_threshold = 3;
      policy.merge = seed % 2 == 0;
      Options options = mode(Mode::migrate);
      if (seed % 3 == 0) options.eviction.limit_bytes = 2ULL * (2U << 20U);
      const Result result = run(program.builder, machine, policy, options);
      const Result ideal = run(program.builder, machine, {}, mode(Mode::ideal));
      EXPECT_EQ(result.line_requests, ideal.line_requests) << name.name;
      EXPECT_EQ(result.warp_instructions, ideal.warp_instructions) << name.name;
      EXPECT_EQ(result.cpu_requests, 0U) << name.name;
    }
  }
}

TEST(Invariants, ConcurrentGapsOfValidRangesAndWritesWithoutFetchEnd) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomProgram program = random_program(seed, 20'000);
    MigrationPolicy policy = policy_of(PolicyKind::single_range);
    policy.single_gap = pages::SingleGap::valid;
    const Result valid = migrate(program, two_core_machine(), policy);
    policy.single_gap = pages::SingleGap::planned;
    const Result planned = migrate(program, two_core_machine(), policy);
    EXPECT_GE(valid.traffic.migrated_to_gpu, planned.traffic.migrated_to_gpu);
    MigrationPolicy validate = policy_of(PolicyKind::bitmap, 128);
    const Result fetched = migrate(program, two_core_machine(), validate);
    validate.write = pages::WriteMiss::validate;
    const Result written = migrate(program, two_core_machine(), validate);
    EXPECT_LT(written.traffic.migrated_to_gpu, fetched.traffic.migrated_to_gpu);
  }
}

TEST(Invariants, TheLinksBinsAddUpToItsBusyTime) {
  const Result result =
      migrate(random_program(3), two_core_machine(), policy_of(PolicyKind::bitmap));
  Picoseconds sum = 0;
  for (const Picoseconds busy : result.utilisation.to_gpu_ps) {
    EXPECT_LE(busy, result.utilisation.bin_ps);
    sum += busy;
  }
  EXPECT_EQ(sum, result.link_to_gpu_busy_ps);
  EXPECT_EQ(sum, result.traffic.migrated_to_gpu * 1'000'000 / 16'000);
}

TEST(Invariants, RangesAreCountedForEveryTouchedPage) {
  const RandomProgram program = random_program(5);
  const Result result = migrate(program, two_core_machine(), policy_of(PolicyKind::whole_page));
  ASSERT_EQ(result.ranges_per_page.size(), 2U);
  EXPECT_EQ(result.ranges_per_page[1], units_touched(program, 2U << 20));
}

TEST(Invariants, WritesWithoutFetchAreServedInMemoryThatIsTooSmall) {
  for (const pages::EvictionKind kind :
       {pages::EvictionKind::lru, pages::EvictionKind::clock, pages::EvictionKind::tree,
        pages::EvictionKind::block_64k}) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const RandomProgram program = random_program(seed, 4 * 16384);  // four pages
      Options options = mode(Mode::migrate);
      options.eviction.kind = kind;
      options.eviction.limit_bytes = 2ULL * (2U << 20);
      MigrationPolicy policy = policy_of(PolicyKind::bitmap, 128);
      policy.write = pages::WriteMiss::validate;
      const Result result = run(program.builder, two_core_machine(), policy, options);
      const Result ideal = run(program.builder, two_core_machine(), {}, mode(Mode::ideal));
      EXPECT_EQ(result.line_requests, ideal.line_requests);
      EXPECT_GT(result.evictions, 0U);
    }
  }
}

TEST(Invariants, MemoryThatIsTooSmallEvictsAndStillServesAll) {
  for (const pages::EvictionKind kind :
       {pages::EvictionKind::lru, pages::EvictionKind::clock, pages::EvictionKind::tree,
        pages::EvictionKind::block_64k}) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const RandomProgram program = random_program(seed, 4 * 16384);  // four pages
      Options options = mode(Mode::migrate);
      options.eviction.kind = kind;
      options.eviction.limit_bytes = 2ULL * (2U << 20);
      const Result result =
          run(program.builder, two_core_machine(), policy_of(PolicyKind::bitmap, 65536), options);
      const Result ideal = run(program.builder, two_core_machine(), {}, mode(Mode::ideal));
      EXPECT_EQ(result.line_requests, ideal.line_requests);
      EXPECT_GT(result.evictions, 0U);
      EXPECT_GE(result.traffic.migrated_to_gpu, units_touched(program, 65536) * 65536);
    }
  }
}

}  // namespace
}  // namespace isthmus::sim::small
