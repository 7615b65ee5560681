#include "workloads/evaluation/random_graph.hpp"

#include <utility>
#include <vector>

#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {

void join_randomly(const Array<BfsNode>& nodes, const Array<unsigned>& edges,
                   std::uint32_t edges_of_node, std::uint64_t seed) {
  const auto num_nodes = static_cast<std::uint32_t>(nodes.num_elements);
  RandomNumbers random(seed);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  for (std::uint32_t node = 0; node < num_nodes; ++node)
    for (std::uint32_t edge = 0; edge < edges_of_node / 2; ++edge)
      ends.emplace_back(node, random.below(num_nodes));
  for (const auto& [one, other] : ends) {
    ++nodes.values[one].num_edges;
    ++nodes.values[other].num_edges;
  }
  std::uint32_t next_edge = 0;
  std::vector<std::uint32_t> next(num_nodes);
  for (std::uint32_t node = 0; node < num_nodes; ++node) {
    nodes.values[node].first_edge = next[node] = next_edge;
    next_edge += nodes.values[node].num_edges;
  }
  for (const auto& [one, other] : ends) {
    edges.values[next[one]++] = other;
    edges.values[next[other]++] = one;
  }
}

std::uint32_t num_levels(const Array<BfsNode>& nodes, const Array<unsigned>& edges,
                         std::uint32_t source) {
  std::vector<bool> reached(nodes.num_elements);
  std::vector<std::uint32_t> frontier{source};
  reached[source] = true;
  std::uint32_t levels = 0;
  for (; !frontier.empty(); ++levels) {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t node : frontier) {
      const BfsNode& about = nodes.values[node];
      for (std::uint32_t edge = 0; edge < about.num_edges; ++edge) {
        const std::uint32_t other = edges.values[about.first_edge + edge];
        if (!reached[other]) next.push_back(other);
        reached[other] = true;
      }
    }
    frontier = std::move(next);
  }
  return levels;
}

}  // namespace isthmus::workloads
