// Breadth-first search and shortest paths, frontier by frontier, over a power-law graph.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/modern/frontier_kernel.hpp"
#include "workloads/sizes.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct FrontierSizes {
  std::uint32_t nodes = 1U << 17U;
  std::uint32_t weights = 1;  ///< edges have weights from 1 to this; 1: none are stored
};

/// A graph of about 17 edges a node, 9 MiB of them, and as many weights. The host launches a kernel
/// for each frontier, as large as the frontier, whose length it reads before. To see a graph that is
/// larger than the GPU's memory, give the machine less: partitions.memory=8MiB. Distances and marks
/// are cleared on the GPU. The host has to know the launches before the first: the constructor runs
/// them once.
class Frontier : public Workload {
public:
  static constexpr std::uint32_t kSource = 0;
  static constexpr std::uint32_t kFar = ~0U;  ///< the distance of a node that wasn't reached

  using Sizes = FrontierSizes;
  static constexpr SizeOf<FrontierSizes> kSizes[] = {
      {{.name = "nodes",
        .meaning = "nodes of the graph",
        .least = 1024,
        .most = 1U << 24U,
        .power_of_two = true},
       &FrontierSizes::nodes},
      {{.name = "weights",
        .meaning = "the largest weight of an edge; 1: edges have none",
        .most = 1U << 16U},
       &FrontierSizes::weights}};

  Frontier(const FrontierSizes& sizes, std::uint64_t seed);

  void reset() override;
  void before(std::uint32_t launch) override;
  void run(std::uint32_t launch, Cta& cta) override;

  const FrontierSizes& sizes() const { return sizes_; }
  const FrontierArguments& arguments() const { return arguments_; }

private:
  void connect(std::uint64_t seed);
  void find_launches();
  void run_silently(std::uint32_t launch);
  void describe();

  FrontierSizes sizes_;
  FrontierArguments arguments_{};
};

}  // namespace isthmus::workloads
