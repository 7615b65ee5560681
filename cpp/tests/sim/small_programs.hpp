// Programs of a few operations, written by hand, and a machine with round times.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "sim/simulator.hpp"
#include "trace/block_builder.hpp"
#include "trace/recorded.hpp"

namespace isthmus::sim::small {

using trace::OpKind;

/// A number of instructions, then this operation.
struct Step {
  OpKind kind = OpKind::load;
  std::uint32_t compute = 0;
  std::vector<std::uint64_t> lines;
};
using WarpSteps = std::vector<Step>;

inline Step load(std::vector<std::uint64_t> lines, std::uint32_t compute = 0) {
  return {OpKind::load, compute, std::move(lines)};
}
inline Step store(std::vector<std::uint64_t> lines, std::uint32_t compute = 0) {
  return {OpKind::store, compute, std::move(lines)};
}
inline Step barrier(std::uint32_t compute = 0) { return {OpKind::barrier, compute, {}}; }

/// Launches of CTAs, each a list of warps, each a list of steps; ends are added.
class Builder {
public:
  Builder& launch(std::vector<trace::HostStep> before, std::vector<std::vector<WarpSteps>> ctas) {
    trace::Launch made;
    made.name = "kernel " + std::to_string(program_.launches.size());
    made.num_ctas = static_cast<std::uint32_t>(ctas.size());
    made.warps_per_cta = ctas.empty() ? 1 : static_cast<std::uint32_t>(ctas.front().size());
    made.threads_per_cta = made.warps_per_cta * 32;
    made.before = std::move(before);
    program_.launches.push_back(made);
    launches_.push_back(std::move(ctas));
    return *this;
  }
  /// The stream of the last launch.
  Builder& stream(std::uint32_t stream) {
    return in_stream_of(program_.launches.size() - 1, stream);
  }
  Builder& in_stream_of(std::size_t launch, std::uint32_t stream) {
    program_.launches[launch].stream = stream;
    return *this;
  }
  trace::Launch& last() { return program_.launches.back(); }
  Builder& before(std::size_t launch, std::vector<trace::HostStep> steps) {
    program_.launches[launch].before = std::move(steps);
    return *this;
  }
  Builder& allocate(std::uint64_t address, std::uint64_t size_bytes) {
    program_.allocations.push_back({"array", address, size_bytes});
    return *this;
  }
  Builder& after(std::vector<trace::HostStep> steps) {
    program_.after = std::move(steps);
    return *this;
  }

  std::shared_ptr<const trace::Recording> recording(std::uint32_t ctas_per_block = ~0U) const {
    const auto recording = std::make_shared<trace::Recording>(program_);
    for (std::uint32_t launch = 0; launch < launches_.size(); ++launch) {
      trace::BlockBuilder block;
      std::uint32_t first_cta = 0;
      for (const auto& cta : launches_[launch]) {
        if (block.num_ctas() == ctas_per_block) {
          recording->add(block.block(launch, first_cta));
          first_cta += ctas_per_block;
          block.clear();
        }
        for (const WarpSteps& warp : cta) {
          for (const Step& step : warp) block.add(step.kind, step.compute, step.lines);
          block.end_warp(0);
        }
        block.end_cta();
      }
      recording->add(block.block(launch, first_cta));
    }
    return recording;
  }

private:
  trace::Program program_;
  std::vector<std::vector<std::vector<WarpSteps>>> launches_;
};

inline trace::HostStep upload(std::uint64_t address, std::uint64_t size_bytes) {
  return {trace::HostStep::Kind::upload, address, size_bytes};
}
inline trace::HostStep in_stream(trace::HostStep step, std::uint32_t stream) {
  step.stream = stream;
  return step;
}
inline trace::HostStep download(std::uint64_t address, std::uint64_t size_bytes) {
  return {trace::HostStep::Kind::download, address, size_bytes};
}

/// One core at 1 GHz (a cycle is 1000 ps) with one partition: an instruction 4 cycles; translation
/// 0; network 10 each way; port 4 (32 B a cycle); L2 20; DRAM 8 for a line (16 GB/s) and 100; the
/// link 1 GB/s (a line 128 ns, 1 KiB 1024 ns).
inline ModelledMachine round_machine() {
  ModelledMachine machine;
  machine.cores = {1, 1'000'000'000, 8, 8, 1, 4, 1};
  machine.l1 = {4 * 1024, 4, 2, 8, 8};
  machine.tlb = {16, 0, 4, 0, 0, 0, 0, 0};
  machine.network = {10, 32, 256};
  machine.partitions = {1, 16 * 1024, 8, 20, 16'000'000'000, 100, 1ULL << 30};
  machine.gmmu = {128, 0};
  machine.link = {};
  machine.link.bytes_per_s = 1'000'000'000;
  return machine;
}

inline Options mode(Mode mode) {
  Options options;
  options.mode = mode;
  return options;
}

inline Result run(const Builder& builder, const ModelledMachine& machine,
                  const pages::MigrationPolicy& policy, const Options& options,
                  Observer* observer = nullptr) {
  trace::Replay replay(builder.recording());
  return simulate(machine, policy, options, replay, observer);
}

inline constexpr Picoseconds kCycle = 1000;
inline constexpr std::uint64_t kKiB = 1024;

inline pages::MigrationPolicy units(std::uint32_t unit_bytes) {
  pages::MigrationPolicy policy;
  policy.kind = pages::PolicyKind::bitmap;
  policy.unit_bytes = unit_bytes;
  return policy;
}

// The time of a load of a line in DRAM, from the load/store unit to the core: network, port, DRAM
// (8 + 100), L2, network.
inline constexpr Picoseconds kDramLoad = (10 + 4 + 8 + 100 + 20 + 10) * kCycle;
// The same of one in L2.
inline constexpr Picoseconds kL2Load = (10 + 4 + 20 + 10) * kCycle;

}  // namespace isthmus::sim::small
