// A graph like the web and social networks: few nodes have most of the edges.
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace isthmus::workloads
