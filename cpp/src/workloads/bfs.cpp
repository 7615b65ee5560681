#include "workloads/bfs.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "workloads/random_numbers.hpp"

namespace isthmus::workloads {
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
  connect(seed);
  describe();
}

void Bfs::connect(std::uint64_t seed) {
  RandomNumbers random(seed);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  for (std::uint32_t node = 0; node < sizes_.nodes; ++node)
    for (std::uint32_t edge = 0; edge < sizes_.edges / 2; ++edge)
      ends.emplace_back(node, random.below(sizes_.nodes));
  for (const auto& [one, other] : ends) {
    ++arguments_.nodes.values[one].num_edges;
    ++arguments_.nodes.values[other].num_edges;
  }
  std::uint32_t next_edge = 0;
  std::vector<std::uint32_t> next(sizes_.nodes);
  for (std::uint32_t node = 0; node < sizes_.nodes; ++node) {
    arguments_.nodes.values[node].first_edge = next[node] = next_edge;
    next_edge += arguments_.nodes.values[node].num_edges;
  }
  for (const auto& [one, other] : ends) {
    arguments_.edges.values[next[one]++] = other;
    arguments_.edges.values[next[other]++] = one;
  }
}

std::uint32_t Bfs::num_levels() const {
  std::vector<bool> reached(sizes_.nodes);
  std::vector<std::uint32_t> frontier{kSource};
  reached[kSource] = true;
  std::uint32_t levels = 0;
  for (; !frontier.empty(); ++levels) {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t node : frontier) {
      const BfsNode& about = arguments_.nodes.values[node];
      for (std::uint32_t edge = 0; edge < about.num_edges; ++edge) {
        const std::uint32_t other = arguments_.edges.values[about.first_edge + edge];
        if (!reached[other]) next.push_back(other);
        reached[other] = true;
      }
    }
    frontier = std::move(next);
  }
  return levels;
}

void Bfs::describe() {
  const std::uint32_t levels = num_levels();
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

}  // namespace isthmus::workloads
