// Breadth-first search over a graph of nodes that are joined at random.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/evaluation/bfs_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// Joins each node to `edges` / 2 random ones, in both directions.
///
/// nodes, edges  filled; nodes zeroed before, and as many edges as nodes x `edges_of_node`
void join_randomly(const Array<BfsNode>& nodes, const Array<unsigned>& edges,
                   std::uint32_t edges_of_node, std::uint64_t seed);

/// The levels of a breadth-first search from `source`, with the last, which reaches nothing.
std::uint32_t num_levels(const Array<BfsNode>& nodes, const Array<unsigned>& edges,
                         std::uint32_t source);

struct BfsSizes {
  std::uint32_t nodes = 65536;
  std::uint32_t edges = 6;  ///< of a node, on average
};

/// The host launches the kernel once for each level, until a launch reaches no node. One byte tells
/// it so; the host clears the byte before each launch and reads it afterwards. No explicit copy
/// written in advance can replace this, and with migration it takes the page away from the GPU
/// every time.
class Bfs : public Workload {
public:
  static constexpr std::uint32_t kThreadsPerCta = 256;
  static constexpr std::uint32_t kSource = 0;

  using Sizes = BfsSizes;
  static constexpr SizeOf<BfsSizes> kSizes[] = {{{.name = "nodes",
                                                  .meaning = "nodes of the graph",
                                                  .least = 256,
                                                  .most = 1U << 24U,
                                                  .multiple = kThreadsPerCta},
                                                 &BfsSizes::nodes},
                                                {{.name = "edges",
                                                  .meaning = "edges of a node, on average",
                                                  .least = 2,
                                                  .most = 64,
                                                  .multiple = 2},
                                                 &BfsSizes::edges}};

  Bfs(const BfsSizes& sizes, std::uint64_t seed);

  void reset() override;
  void before(std::uint32_t launch) override;
  void run(std::uint32_t launch, Cta& cta) override;
  KernelCall call(std::uint32_t launch) const override;

  const BfsSizes& sizes() const { return sizes_; }
  const BfsArguments& arguments() const { return arguments_; }

private:
  void describe();

  BfsSizes sizes_;
  BfsArguments arguments_{};
};

}  // namespace isthmus::workloads
