// Random programs from a seed: a few kernels whose warps load and store lines of a few pages.
#pragma once

#include <cstdint>
#include <random>
#include <set>

#include "small_programs.hpp"

namespace isthmus::sim::small {

struct RandomProgram {
  Builder builder;
  std::set<std::uint64_t> lines;  ///< the lines that it touches
};

/// num_lines   in the address space of the program
inline RandomProgram random_program(std::uint64_t seed, std::uint64_t num_lines = 64 * 1024,
                                    std::size_t num_launches = 2) {
  std::mt19937_64 generator(seed);
  const auto below = [&generator](std::uint64_t limit) { return generator() % limit; };
  RandomProgram program;
  for (std::size_t launch = 0; launch < num_launches; ++launch) {
    std::vector<std::vector<WarpSteps>> ctas(6, std::vector<WarpSteps>(3));
    for (auto& cta : ctas) {
      for (WarpSteps& warp : cta) {
        const std::uint64_t start = below(num_lines - 256);
        for (int step = 0; step < 12; ++step) {
          std::set<std::uint64_t> lines;
          const std::uint64_t count = 1 + below(4);
          for (std::uint64_t i = 0; i < count; ++i) {
            lines.insert(below(2) == 0 ? below(num_lines) : start + below(256));
          }
          program.lines.insert(lines.begin(), lines.end());
          const OpKind kind = below(4) == 0 ? OpKind::store : OpKind::load;
          warp.push_back(
              {kind, static_cast<std::uint32_t>(below(40)), {lines.begin(), lines.end()}});
        }
        warp.push_back(barrier(1));
        warp.push_back(load({start}));
        program.lines.insert(start);
      }
    }
    program.builder.launch({}, std::move(ctas));
  }
  return program;
}

inline ModelledMachine two_core_machine() {
  ModelledMachine machine = round_machine();
  machine.cores.count = 2;
  machine.partitions.count = 3;
  machine.tlb.walk_cycles = 30;
  machine.link.bytes_per_s = 16'000'000'000;
  return machine;
}

}  // namespace isthmus::sim::small
