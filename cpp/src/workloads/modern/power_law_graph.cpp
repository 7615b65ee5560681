#include "workloads/modern/power_law_graph.hpp"

#include <algorithm>

#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {
namespace {

constexpr float kMinEdges = 2;
constexpr float kMaxEdges = 4096;
constexpr std::uint32_t kScatter = 0x9E3779B1;  // odd: multiplying by it permutes

}  // namespace

PowerLawGraph make_power_law_graph(std::uint32_t num_nodes, std::uint64_t seed) {
  RandomNumbers random(seed);
  PowerLawGraph graph;
  graph.begins.push_back(0);
  for (std::uint32_t node = 0; node < num_nodes; ++node) {
    const float degree = std::min(kMaxEdges, kMinEdges / (1 - random.uniform()));
    for (std::uint32_t edge = 0; edge < static_cast<std::uint32_t>(degree); ++edge) {
      const float u = random.uniform();
      const auto rank = static_cast<std::uint32_t>(static_cast<float>(num_nodes) * u * u * u);
      graph.sources.push_back(rank * kScatter % num_nodes);
    }
    graph.begins.push_back(static_cast<std::uint32_t>(graph.sources.size()));
  }
  return graph;
}

}  // namespace isthmus::workloads
