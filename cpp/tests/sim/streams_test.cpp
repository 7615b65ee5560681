// Kernels of several streams: exact times, limits, whose the counts are, and what holds for any
// program.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <isthmus/errors.hpp>

#include "../policy_kinds.hpp"
#include "random_programs.hpp"
#include "sim/deadlock.hpp"
#include "trace/checking.hpp"

namespace isthmus::sim::small {
namespace {

using Ctas = std::vector<std::vector<WarpSteps>>;

constexpr Picoseconds kTenInstructions = 40 * kCycle;

/// A CTA whose warps have ten instructions each.
Ctas ten_instructions(std::size_t num_ctas = 1, std::size_t num_warps = 1) {
  return {num_ctas, std::vector<WarpSteps>(num_warps, {barrier(9)})};
}

/// Two kernels, in two streams or in one.
Builder two(const Ctas& first, const Ctas& second, std::uint32_t stream = 1) {
  return Builder().launch({}, first).launch({}, second).stream(stream);
}

Result ideal(const Builder& builder, const ModelledMachine& machine = round_machine()) {
  return run(builder, machine, {}, mode(Mode::ideal));
}

/// What a run tells of its launches and CTAs.
class Told : public Observer {
public:
  void launched(std::uint32_t launch, const trace::Launch& /*kernel*/, Span /*span*/,
                const Counts& counts) override {
    of_launch[launch] = counts;
  }
  void cta_done(std::uint32_t /*core*/, std::uint32_t /*cta*/, Span span) override {
    ctas.push_back(span);
  }
  std::map<std::uint32_t, Counts> of_launch;
  std::vector<Span> ctas;
};

// Of Counts.
constexpr std::size_t kMigrated = 6;
constexpr std::size_t kEvictions = 13;
constexpr std::size_t kLineRequests = 14;

TEST(Streams, TwoChainsOfInstructionsTakeTheTimeOfOne) {
  const Ctas chain = ten_instructions();
  EXPECT_EQ(ideal(two(chain, chain, 0)).total_ps, 2 * kTenInstructions);
  const Result both = ideal(two(chain, chain));
  EXPECT_EQ(both.total_ps, kTenInstructions);
  EXPECT_EQ(both.kernel_ps, kTenInstructions);
  EXPECT_EQ(both.least_ps, kTenInstructions);
}

TEST(Streams, ALaunchsLatencyPassesBesideAnotherKernel) {
  ModelledMachine machine = round_machine();
  machine.launch.latency_ps = 7000;
  const Ctas chain = ten_instructions();
  EXPECT_EQ(ideal(two(chain, chain), machine).total_ps, 7000 + kTenInstructions);
  const Builder three = two(chain, chain).launch({}, chain);
  const Result result = ideal(three, machine);
  EXPECT_EQ(result.launches[2].start_ps, 2 * 7000 + kTenInstructions);
  EXPECT_EQ(result.total_ps, 2 * (7000 + kTenInstructions));
}

TEST(Streams, KernelsShareTheIssueSlots) {
  // Eight warps of ten instructions: one a cycle.
  const Result result = ideal(two(ten_instructions(1, 5), ten_instructions(1, 3)));
  EXPECT_EQ(result.total_ps, 80 * kCycle);
}

TEST(Streams, KernelsShareTheUnitThePortAndDram) {
  // The second line is a cycle later at the unit, four at the port, and eight in DRAM.
  const Result result = ideal(two({{{load({0})}}}, {{{load({2})}}}));
  EXPECT_EQ(result.launches[0].end_ps, 4 * kCycle + kDramLoad);
  EXPECT_EQ(result.launches[1].end_ps, 4 * kCycle + kDramLoad + 8 * kCycle);
}

TEST(Streams, KernelsShareTheLink) {
  const Builder builder = two({{{load({0})}}}, {{{load({64})}}});
  Told told;
  const Result result = run(builder, round_machine(), units(kKiB), mode(Mode::migrate), &told);
  EXPECT_EQ(result.launches[0].end_ps, 4 * kCycle + kDramLoad + 1'024'000U);
  EXPECT_EQ(result.total_ps, 4 * kCycle + kDramLoad + 2 * 1'024'000U);
}

TEST(Streams, WhatOneKernelHasBroughtIsThereForTheOther) {
  const Builder builder = two({{{load({0})}}}, {{{load({1})}}});
  Told told;
  const Result result = run(builder, round_machine(), units(kKiB), mode(Mode::migrate), &told);
  EXPECT_EQ(result.migrations, 1U);
  EXPECT_EQ(told.of_launch[0][kMigrated], kKiB);
  EXPECT_EQ(told.of_launch[1][kMigrated], 0U);
}

TEST(Streams, CtasOfTheLaunchThatBeganFirstGoFirst) {
  ModelledMachine machine = round_machine();
  machine.cores.max_ctas = 1;
  const Result result = ideal(two(ten_instructions(2), ten_instructions()), machine);
  EXPECT_EQ(result.launches[0].end_ps, 2 * kTenInstructions);
  EXPECT_EQ(result.launches[1].start_ps, 0U);
  EXPECT_EQ(result.launches[1].end_ps, 3 * kTenInstructions);
}

TEST(Streams, CtasOfTheNextLaunchFillAllCoresOnceThoseOfTheOneBeforeHaveBegun) {
  ModelledMachine machine = round_machine();
  machine.cores.count = 2;
  machine.cores.max_warps = 8;
  const auto cta = [](std::size_t num_warps, std::uint32_t num_instructions) {
    return std::vector<WarpSteps>(num_warps, {barrier(num_instructions - 1)});
  };
  // Its third CTA begins when its first ends; then each core has two warps left.
  const Ctas first{cta(6, 10), cta(6, 100), cta(6, 100)};
  Told told;
  run(two(first, {2, cta(2, 10)}), machine, {}, mode(Mode::ideal), &told);
  std::vector<Picoseconds> starts;
  for (const Span& span : told.ctas) starts.push_back(span.start_ps);
  std::ranges::sort(starts);
  ASSERT_EQ(starts.size(), 5);
  EXPECT_GT(starts[2], 0);
  EXPECT_EQ(starts[3], starts[2]);
  EXPECT_EQ(starts[4], starts[2]);
}

TEST(Streams, ALaunchThatWaitsForItsStreamDoesntHoldUpOthers) {
  const Ctas chain = ten_instructions();
  const Builder builder = Builder().launch({}, chain).launch({}, chain).launch({}, chain).stream(1);
  const Result result = ideal(builder);
  EXPECT_EQ(result.launches[1].end_ps, 2 * kTenInstructions);
  EXPECT_EQ(result.launches[2].end_ps, kTenInstructions);
}

TEST(Streams, TheWarpsOfACoreAreForAllKernelsTogether) {
  // Eight warps: five and four don't fit.
  const Result result = ideal(two(ten_instructions(1, 5), ten_instructions(1, 4)));
  EXPECT_EQ(result.launches[0].end_ps, 50 * kCycle);
  EXPECT_EQ(result.total_ps, 90 * kCycle);
}

TEST(Streams, TheCtasOfACoreAreForAllKernelsTogether) {
  ModelledMachine machine = round_machine();
  machine.cores.max_ctas = 2;
  Told told;
  run(two(ten_instructions(1), ten_instructions(3)), machine, {}, mode(Mode::ideal), &told);
  for (const Span one : told.ctas) {
    const auto at_once = std::ranges::count_if(told.ctas, [&](const Span& other) {
      return other.start_ps <= one.start_ps && one.start_ps < other.end_ps;
    });
    EXPECT_LE(at_once, 2);
  }
}

TEST(Streams, RegistersAndSharedMemoryAreForAllKernelsTogether) {
  for (const std::uint32_t limit : {1U, 2U}) {
    Builder builder = Builder().launch({}, ten_instructions());
    builder.last().max_ctas_per_sm = limit;
    builder.launch({}, ten_instructions()).stream(1).last().max_ctas_per_sm = limit;
    EXPECT_EQ(ideal(builder).total_ps, (3 - limit) * kTenInstructions);
  }
}

TEST(Streams, ACopyOfAStreamRunsBesideAnothersKernel) {
  const Builder builder = Builder()
                              .launch({}, {{{barrier(99)}}})
                              .launch({in_stream(upload(0, 4096), 1)}, ten_instructions())
                              .stream(1);
  const Result result = run(builder, round_machine(), {}, mode(Mode::programmer));
  EXPECT_EQ(result.launches[0].end_ps, 400 * kCycle);
  EXPECT_EQ(result.launches[1].start_ps, 4096 * kCycle);
  EXPECT_EQ(result.total_ps, 4096 * kCycle + kTenInstructions);
  EXPECT_EQ(result.kernel_ps, 400 * kCycle + kTenInstructions);
  EXPECT_EQ(result.copy_ps, (4096 - 400) * kCycle);
}

TEST(Streams, AStepWithoutAStreamWaitsForAllAndAllWaitForIt) {
  const Builder builder = Builder()
                              .launch({}, {{{barrier(99)}}})
                              .launch({upload(0, 4096)}, ten_instructions())
                              .stream(1);
  const Result result = run(builder, round_machine(), {}, mode(Mode::programmer));
  EXPECT_EQ(result.total_ps, (400 + 4096) * kCycle + kTenInstructions);
}

TEST(Streams, ADownloadAfterTheLastLaunchWaitsForItsStreamAlone) {
  const Builder builder =
      two({{{barrier(99)}}}, ten_instructions()).after({in_stream(download(0, 128), 1)});
  Options options = mode(Mode::programmer);
  options.count_downloads = true;
  EXPECT_EQ(run(builder, round_machine(), {}, options).total_ps, 400 * kCycle);
}

TEST(Streams, EachRequestCountsForItsKernel) {
  const Builder builder = two({{{load({0, 64}), load({1})}}}, {{{load({128}), store({3000})}}});
  Told told;
  const Result result = run(builder, round_machine(), units(kKiB), mode(Mode::migrate), &told);
  EXPECT_EQ(told.of_launch[0][kLineRequests], 3U);
  EXPECT_EQ(told.of_launch[1][kLineRequests], 2U);
  EXPECT_EQ(told.of_launch[0][kMigrated], 2 * kKiB);
  EXPECT_EQ(told.of_launch[1][kMigrated], 2 * kKiB);
  const Counts all = counts_of(result);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i], told.of_launch[0][i] + told.of_launch[1][i]) << i;
  }
}

TEST(Streams, AnEvictionCountsForTheKernelThatNeedsTheRoom) {
  pages::MigrationPolicy policy;
  policy.kind = pages::PolicyKind::whole_page;
  Options options = mode(Mode::migrate);
  options.eviction.limit_bytes = 2 << 20;
  const Builder builder = two({{{load({0})}}}, {{{load({16384})}}});
  Told told;
  run(builder, round_machine(), policy, options, &told);
  EXPECT_EQ(told.of_launch[0][kEvictions], 0U);
  EXPECT_EQ(told.of_launch[1][kEvictions], 1U);
}

TEST(Streams, ADeadlockNamesTheKernelsThatWait) {
  Options options = mode(Mode::migrate);
  options.eviction.kind = pages::EvictionKind::block_64k;
  options.eviction.limit_bytes = 2 * 65536;
  const Builder builder = two({{{load({0, 512, 1024, 1536})}}}, {{{load({2048})}}});
  try {
    run(builder, round_machine(), pages::default_policy(pages::PolicyKind::bitmap), options);
    FAIL() << "it went on";
  } catch (const Deadlock& deadlock) {
    const std::string message = deadlock.what();
    EXPECT_NE(message.find("in launch 'kernel 0', 'kernel 1' after"), std::string::npos) << message;
    EXPECT_NE(message.find("of CTA 0 of 'kernel 0' on core 0 waits"), std::string::npos) << message;
  }
}

std::string refusal(const trace::Program& program) {
  try {
    trace::check_program(program);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Streams, AnAccessOfTheCpuInAStreamIsRefused) {
  const trace::HostStep read{trace::HostStep::Kind::read, 0, 4096, 3};
  const Builder builder = Builder().launch({read}, ten_instructions());
  EXPECT_EQ(refusal(builder.recording()->program()),
            "host step 0 before launch 0 is an access of the CPU in stream 3: only copies have a "
            "stream");
}

TEST(Streams, MoreThanTheSimulatorCanNumberAreRefused) {
  Builder builder;
  for (std::uint32_t i = 0; i < 1025; ++i) builder.launch({}, ten_instructions()).stream(7 * i);
  EXPECT_TRUE(
      refusal(builder.recording()->program()).starts_with("the program has more than 1024"));
  EXPECT_THROW(ideal(builder), UsageError);
}

constexpr std::uint64_t kSeeds = 3;

/// Four random kernels and copies, in three streams; or, if `stream` is given, in that one.
Builder streamed(std::uint64_t seed, std::optional<std::uint32_t> stream = std::nullopt) {
  RandomProgram program = random_program(seed, 3 * 16384, 4);  // three pages
  const std::vector<std::uint32_t> streams =
      stream ? std::vector<std::uint32_t>(4, *stream) : std::vector<std::uint32_t>{5, 0, 5, 9};
  for (std::size_t launch = 0; launch < 4; ++launch)
    program.builder.in_stream_of(launch, streams[launch]);
  program.builder.before(0, {upload(0, 3 * 16384 * 128)});
  program.builder.before(2, {in_stream(download(4096, 8192), streams[2]),
                             in_stream(upload(0, 1U << 20U), streams[2])});
  program.builder.after({in_stream(download(1U << 20U, 65536), streams[3])});
  return program.builder;
}

struct Way {
  std::string name;
  pages::MigrationPolicy policy;
  Options options;
};

/// Every way in which data gets to the GPU.
std::vector<Way> ways(std::uint64_t seed) {
  std::vector<Way> all;
  Options options;
  options.count_downloads = seed % 2 == 0;
  for (const Mode one : {Mode::ideal, Mode::programmer, Mode::overlapped}) {
    options.mode = one;
    all.push_back({"no migration", {}, options});
  }
  options.mode = Mode::migrate;
  for (const Hints hints : {Hints::prefetch, Hints::advise}) {
    options.hints = hints;
    all.push_back({"hints", pages::default_policy(pages::PolicyKind::bitmap), options});
  }
  options.hints = Hints::none;
  for (const pages::NamedKind& name : pages::policy_kinds()) {
    pages::MigrationPolicy policy = pages::default_policy(name.kind);
    policy.counter_threshold = 3;
    all.push_back({std::string(name.name), policy, options});
    options.eviction.limit_bytes = 2ULL * (2U << 20U);
    all.push_back({std::string(name.name) + " in too little memory", policy, options});
    options.eviction.limit_bytes = 0;
  }
  return all;
}

TEST(Streams, AProgramWhoseWorkIsAllInOneStreamRunsAsWithoutStreams) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const Way& way : ways(seed)) {
      Builder plain = streamed(seed, 0);
      plain.before(2, {download(4096, 8192), upload(0, 1U << 20U)});
      plain.after({download(1U << 20U, 65536)});
      const Result with = run(streamed(seed, 7), two_core_machine(), way.policy, way.options);
      const Result without = run(plain, two_core_machine(), way.policy, way.options);
      EXPECT_EQ(with.event_digest, without.event_digest) << way.name;
      EXPECT_EQ(with.total_ps, without.total_ps) << way.name;
      EXPECT_EQ(counts_of(with), counts_of(without)) << way.name;
      EXPECT_EQ(with.ranges_per_page, without.ranges_per_page) << way.name;
    }
  }
}

TEST(Streams, EveryPolicyServesEveryRequestOfAllKernelsAndCountsItOnce) {
  std::vector<ModelledMachine> machines(3, two_core_machine());
  machines[1].faults = {3'000'000, Handling::batch, 4};
  machines[1].launch.latency_ps = 1'000'000;
  machines[2].link.coherent = true;
  machines[2].gmmu.buffer_entries = 2;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Builder builder = streamed(seed);
    for (const ModelledMachine& machine : machines) {
      const Result all = ideal(builder, machine);
      for (const Way& way : ways(seed)) {
        Told told;
        const Result result = run(builder, machine, way.policy, way.options, &told);
        EXPECT_EQ(result.line_requests, all.line_requests) << way.name;
        EXPECT_EQ(result.num_ctas, all.num_ctas) << way.name;
        EXPECT_GE(result.total_ps, result.least_ps) << way.name;
        EXPECT_GE(result.total_ps, result.kernel_ps + result.copy_ps) << way.name;
        EXPECT_GE(result.launches[2].start_ps, result.launches[0].end_ps) << way.name;
        std::uint64_t requests = 0;
        for (const auto& [launch, counts] : told.of_launch) requests += counts[kLineRequests];
        EXPECT_EQ(requests, all.line_requests) << way.name;
      }
    }
  }
}

TEST(Streams, ResultsDontDependOnTheBlocksOfATrace) {
  const Builder builder = streamed(3);
  const Result whole = ideal(builder, two_core_machine());
  for (const std::uint32_t ctas : {1U, 2U, 5U}) {
    trace::Replay replay(builder.recording(ctas));
    const Result cut = simulate(two_core_machine(), {}, mode(Mode::ideal), replay);
    EXPECT_EQ(cut.event_digest, whole.event_digest);
  }
}

TEST(Streams, IndependentKernelsTakeLessThanOneAfterTheOtherAndAsLongAsTheLonger) {
  Ctas near(2), far(2);
  for (std::uint64_t cta = 0; cta < 2; ++cta) {
    WarpSteps one, other;
    for (std::uint64_t i = 0; i < 20; ++i) {
      one.push_back(load({100 * cta + 3 * i}, 5));
      other.push_back(load({40'000 + 1000 * cta + 9 * i}, 9));
    }
    near[cta] = {one};
    far[cta] = {other};
  }
  for (const Way& way : ways(0)) {
    const auto total = [&](const Builder& builder) {
      return run(builder, two_core_machine(), way.policy, way.options).total_ps;
    };
    const Picoseconds both = total(two(near, far));
    EXPECT_LT(both, total(two(near, far, 0))) << way.name;
    EXPECT_GE(both, total(Builder().launch({}, near))) << way.name;
    EXPECT_GE(both, total(Builder().launch({}, far))) << way.name;
  }
}

}  // namespace
}  // namespace isthmus::sim::small
