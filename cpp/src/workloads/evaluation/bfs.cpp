#include "workloads/evaluation/bfs.hpp"

#include <algorithm>
#include <string>
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

namespace {

constexpr std::uint64_t kPublishedInstructions = 17'000'000;  // ISPASS'09, Table 1

}  // namespace

Bfs::Bfs(const BfsSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  const std::uint64_t num_edges = std::uint64_t{sizes_.nodes} * sizes_.edges;
  arguments_.nodes = heap_.allocate<BfsNode>("nodes", sizes_.nodes);
  arguments_.edges = heap_.allocate<unsigned>("edges", num_edges);
  arguments_.frontier = heap_.allocate<unsigned char>("frontier", sizes_.nodes);
  arguments_.reached = heap_.allocate<unsigned char>("reached", sizes_.nodes);
  arguments_.cost = heap_.allocate<int>("cost", sizes_.nodes);
  arguments_.go_on = heap_.allocate<unsigned char>("go_on", 1);
  join_randomly(arguments_.nodes, arguments_.edges, sizes_.edges, seed);
  describe();
}

void Bfs::describe() {
  const std::uint32_t levels = num_levels(arguments_.nodes, arguments_.edges, kSource);
  const trace::HostStep read_flag = step(trace::HostStep::Kind::read, arguments_.go_on);
  const trace::HostStep clear_flag = step(trace::HostStep::Kind::write, arguments_.go_on);
  for (std::uint32_t level = 0; level < levels; ++level) {
    trace::Launch& expand = program_.launches.emplace_back(
        launch("level " + std::to_string(level), sizes_.nodes / kThreadsPerCta, kThreadsPerCta));
    if (level == 0)
      expand.before = {upload(arguments_.nodes), upload(arguments_.edges),
                       upload(arguments_.frontier), upload(arguments_.reached),
                       upload(arguments_.cost)};
    else
      expand.before.push_back(read_flag);
    expand.before.push_back(clear_flag);
  }
  program_.after = {read_flag, download(arguments_.cost)};
  program_.thread_instructions = kPublishedInstructions;
  finish_program();
}

void Bfs::reset() {
  std::fill_n(arguments_.frontier.values, sizes_.nodes, static_cast<unsigned char>(0));
  std::fill_n(arguments_.reached.values, sizes_.nodes, static_cast<unsigned char>(0));
  std::fill_n(arguments_.cost.values, sizes_.nodes, -1);
  arguments_.frontier.values[kSource] = 1;
  arguments_.reached.values[kSource] = 1;
  arguments_.cost.values[kSource] = 0;
}

void Bfs::before(std::uint32_t launch) {
  arguments_.level = static_cast<int>(launch);
  *arguments_.go_on.values = 0;
}

void Bfs::run(std::uint32_t /*launch*/, Cta& cta) { bfs_level(cta, arguments_); }

KernelCall Bfs::call(std::uint32_t /*launch*/) const {
  return kernel_call("bfs_level", arguments_);
}

}  // namespace isthmus::workloads
