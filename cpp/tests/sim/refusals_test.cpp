// Impossible machines and traces, and simulations that can't continue.
#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include <string>
#include <utility>
#include <vector>

#include "pages/policy_names.hpp"
#include "sim/deadlock.hpp"
#include "small_programs.hpp"

namespace isthmus::sim::small {
namespace {

std::string refusal(const ModelledMachine& machine) {
  try {
    check_machine(machine);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Refusals, ThePapersMachineIsPossible) { EXPECT_EQ(refusal(ModelledMachine{}), ""); }

TEST(Refusals, AnImpossibleMachineIsNamed) {
  ModelledMachine machine;
  machine.link.bytes_per_s = 0;
  EXPECT_NE(refusal(machine).find("link.bandwidth is 0"), std::string::npos);
  machine = {};
  machine.tlb.entries = 0;
  EXPECT_NE(refusal(machine).find("tlb.entries is 0"), std::string::npos);
  machine = {};
  machine.gmmu.buffer_entries = 0;
  EXPECT_NE(refusal(machine).find("gmmu.buffer_entries is 0"), std::string::npos);
  machine = {};
  machine.partitions.l2_size_bytes = 1000;
  EXPECT_NE(refusal(machine).find("partitions.l2_size is 1000"), std::string::npos);
  machine = {};
  machine.cores.count = 257;
  EXPECT_NE(refusal(machine).find("from 1 to 256"), std::string::npos);
}

TEST(Refusals, AMachineWhoseRunsCouldPassTheEndOfSimulatedTimeIsNamed) {
  const std::vector<std::pair<std::string, void (*)(ModelledMachine&)>> beyond = {
      {"tlb.walk_cycles", [](ModelledMachine& m) { m.tlb.walk_cycles = ~0U; }},
      {"tlb.shared_cycles", [](ModelledMachine& m) { m.tlb.shared_cycles = ~0U; }},
      {"network.latency_cycles", [](ModelledMachine& m) { m.network.latency_cycles = ~0U; }},
      {"partitions.l2_cycles", [](ModelledMachine& m) { m.partitions.l2_cycles = ~0U; }},
      {"partitions.dram_cycles", [](ModelledMachine& m) { m.partitions.dram_cycles = ~0U; }},
      {"partitions.dram_bandwidth", [](ModelledMachine& m) { m.partitions.dram_bytes_per_s = 1; }},
      {"gmmu.query_cycles", [](ModelledMachine& m) { m.gmmu.query_cycles = ~0U; }},
      {"link.bandwidth", [](ModelledMachine& m) { m.link.bytes_per_s = 1; }},
      {"link.back_bandwidth", [](ModelledMachine& m) { m.link.back_bytes_per_s = 1; }},
      {"link.latency", [](ModelledMachine& m) { m.link.latency_ps = kNever; }},
      {"link.packet_overhead", [](ModelledMachine& m) { m.link.packet_overhead_bytes = ~0U; }},
      {"link.costs", [](ModelledMachine& m) { m.link.costs = {{1, kNever}}; }},
      {"faults.latency", [](ModelledMachine& m) { m.faults.latency_ps = kNever; }},
      {"faults.block", [](ModelledMachine& m) { m.faults.block_ps = kNever; }},
      {"faults.first", [](ModelledMachine& m) { m.faults.first_ps = kNever; }},
      {"faults.page", [](ModelledMachine& m) { m.faults.page_ps = 1; }},  // handled in parallel
      {"launch.latency", [](ModelledMachine& m) { m.launch.latency_ps = kNever; }},
  };
  for (const auto& [parameter, change] : beyond) {
    ModelledMachine machine;
    change(machine);
    EXPECT_TRUE(refusal(machine).starts_with(parameter + " is ")) << refusal(machine);
  }
}

TEST(Refusals, AUnitLargerThanThePageIsRefused) {
  pages::MigrationPolicy policy = pages::default_policy(pages::PolicyKind::bitmap);
  policy.page_bytes = 4096;
  policy.unit_bytes = 8192;
  const Builder builder = Builder().launch({}, {{{load({8})}}});
  EXPECT_THROW(run(builder, round_machine(), policy, mode(Mode::migrate)), UsageError);
}

TEST(Refusals, ACtaThatFitsOnNoCoreIsRefused) {
  const Builder builder = Builder().launch({}, {{9, WarpSteps{load({8})}}});
  EXPECT_THROW(run(builder, round_machine(), {}, mode(Mode::ideal)), UsageError);
}

TEST(Refusals, ATraceWithoutItsCtasIsRefused) {
  trace::Program program;
  program.launches.push_back({"kernel", 2, 1, 32, 0, 0, {}});
  const auto recording = std::make_shared<trace::Recording>(program);
  trace::Replay replay(recording);
  EXPECT_THROW(simulate(round_machine(), {}, {}, replay), UsageError);
}

// Two modes read all of a trace before the run does, and know its order no better.
TEST(Refusals, ATraceWhoseBlocksAreInNoOrderIsRefusedInEveryMode) {
  trace::Program program;
  program.allocations.push_back({"array", 0, 4096});
  const std::vector<trace::HostStep> copied{upload(0, 4096)};
  program.launches.push_back({"first", 1, 1, 32, 0, 0, {}});
  program.launches.push_back({"second", 1, 1, 32, 0, 0, copied});
  for (const std::vector<std::uint32_t>& launches :
       {std::vector<std::uint32_t>{1, 0}, {7}, {0, 9}}) {
    const auto recording = std::make_shared<trace::Recording>(program);
    for (const std::uint32_t launch : launches) {
      trace::BlockBuilder block;
      block.add(OpKind::load, 0, std::vector<std::uint64_t>{8});
      block.end_warp(0);
      block.end_cta();
      recording->add(block.block(launch, 0));
    }
    Options prefetching = mode(Mode::migrate);
    prefetching.hints = Hints::prefetch;
    for (const Options& options :
         {mode(Mode::migrate), mode(Mode::programmer), mode(Mode::overlapped), prefetching}) {
      trace::Replay replay(recording);
      EXPECT_THROW(simulate(round_machine(), {}, options, replay), UsageError);
    }
  }
}

TEST(Refusals, AnEmptyProgramTakesNoTime) {
  const Result result = run(Builder(), round_machine(), {}, mode(Mode::migrate));
  EXPECT_EQ(result.total_ps, 0U);
  EXPECT_EQ(result.accessed_share(), 0.0);
}

TEST(Refusals, ADeadlockNamesTheWaitingWarpAndTheReason) {
  // Blocks of one page only; those that the page's other requests wait for may stay.
  Options options = mode(Mode::migrate);
  options.eviction.kind = pages::EvictionKind::block_64k;
  options.eviction.limit_bytes = 2 * 65536;
  const Builder builder = Builder().launch({}, {{{load({0, 512, 1024, 1536})}}});
  pages::MigrationPolicy policy = pages::default_policy(pages::PolicyKind::bitmap);
  try {
    run(builder, round_machine(), policy, options);
    FAIL() << "it went on";
  } catch (const Deadlock& deadlock) {
    const std::string message = deadlock.what();
    EXPECT_NE(message.find("warp 0 of CTA 0 on core 0 waits for"), std::string::npos) << message;
    EXPECT_NE(message.find("waits for room in GPU memory"), std::string::npos) << message;
  }
}

/// An observer that ends the run at the first poll.
class Impatient : public Observer {
public:
  void poll(Picoseconds /*now_ps*/) override { throw std::runtime_error("enough"); }
};

TEST(Refusals, AnObserverCanEndARun) {
  std::vector<std::vector<WarpSteps>> ctas(
      4000, std::vector<WarpSteps>(2, WarpSteps(8, load({1, 2, 3}))));
  const Builder builder = Builder().launch({}, ctas);
  Impatient observer;
  EXPECT_THROW(run(builder, round_machine(), {}, mode(Mode::ideal), &observer), std::runtime_error);
}

}  // namespace
}  // namespace isthmus::sim::small
