// A graph like the web and social networks, where few nodes have most of the edges, and what is
// computed on it: a sparse matrix times a vector, PageRank, and breadth-first search and shortest
// paths, frontier by frontier.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/modern/frontier_kernel.hpp"
#include "workloads/modern/pagerank_kernel.hpp"
#include "workloads/modern/spmv_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// Edges, grouped by their target node.
struct PowerLawGraph {
  std::vector<std::uint32_t> begins;   ///< [num_nodes + 1], of each node's edges
  std::vector<std::uint32_t> sources;  ///< where the edges come from
};

/// A node has 2 / u edges, u uniform in (0, 1], up to 4096: about 17 on average. Sources are node
/// num_nodes u^3, scattered over all numbers.
///
/// num_nodes   a power of two
PowerLawGraph make_power_law_graph(std::uint32_t num_nodes, std::uint64_t seed);

struct SpmvSizes {
  std::uint32_t rows = 1U << 18U;
};

/// 262,144 rows, about 17 entries in each.
class Spmv : public Workload {
public:
  using Sizes = SpmvSizes;
  static constexpr SizeOf<SpmvSizes> kSizes[] = {{{.name = "rows",
                                                   .meaning = "rows and columns of the matrix",
                                                   .least = 1024,
                                                   .most = 1U << 24U,
                                                   .power_of_two = true},
                                                  &SpmvSizes::rows}};

  Spmv(const SpmvSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const SpmvSizes& sizes() const { return sizes_; }
  const SpmvArguments& arguments() const { return arguments_; }

private:
  SpmvSizes sizes_;
  SpmvArguments arguments_{};
};

struct PagerankSizes {
  std::uint32_t nodes = 1U << 17U;
  std::uint32_t iterations = 3;
};

/// 131,072 nodes, each with about 17 incoming edges; three iterations of two launches.
class Pagerank : public Workload {
public:
  using Sizes = PagerankSizes;
  static constexpr SizeOf<PagerankSizes> kSizes[] = {
      {{.name = "nodes",
        .meaning = "nodes of the graph",
        .least = 1024,
        .most = 1U << 24U,
        .power_of_two = true},
       &PagerankSizes::nodes},
      {{.name = "iterations", .meaning = "iterations, of two launches each", .most = 1000},
       &PagerankSizes::iterations}};

  Pagerank(const PagerankSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const PagerankSizes& sizes() const { return sizes_; }
  const PagerankArguments& arguments() const { return arguments_; }

private:
  void describe();

  PagerankSizes sizes_;
  PagerankArguments arguments_{};
};

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
