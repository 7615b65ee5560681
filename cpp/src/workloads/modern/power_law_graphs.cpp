#include "workloads/modern/power_law_graphs.hpp"

#include <algorithm>
#include <string>
#include <utility>

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

namespace {

constexpr std::uint32_t kThreadsPerCta = 128;
constexpr std::uint32_t kRowsPerCta = kThreadsPerCta / kNumLanes;

}  // namespace

Spmv::Spmv(const SpmvSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  const PowerLawGraph graph = make_power_law_graph(sizes_.rows, seed);
  arguments_.row_begins = heap_.allocate<unsigned>("row_begins", graph.begins.size());
  arguments_.columns = heap_.allocate<unsigned>("columns", graph.sources.size());
  arguments_.values = heap_.allocate<float>("values", graph.sources.size());
  arguments_.x = heap_.allocate<float>("x", sizes_.rows);
  arguments_.y = heap_.allocate<float>("y", sizes_.rows);
  std::copy(graph.begins.begin(), graph.begins.end(), arguments_.row_begins.values);
  std::copy(graph.sources.begin(), graph.sources.end(), arguments_.columns.values);
  RandomNumbers random(seed + 1);
  std::generate_n(arguments_.values.values, graph.sources.size(),
                  [&] { return random.uniform() - 0.5F; });
  std::generate_n(arguments_.x.values, sizes_.rows, [&] { return random.uniform() - 0.5F; });
  trace::Launch& rows =
      program_.launches.emplace_back(launch("rows", sizes_.rows / kRowsPerCta, kThreadsPerCta));
  rows.before = {upload(arguments_.row_begins), upload(arguments_.columns),
                 upload(arguments_.values), upload(arguments_.x)};
  program_.after = {download(arguments_.y)};
  finish_program();
}

void Spmv::reset() { std::fill_n(arguments_.y.values, sizes_.rows, 0.0F); }

void Spmv::run(std::uint32_t /*launch*/, Cta& cta) { spmv_rows(cta, arguments_); }

namespace {

constexpr float kDamping = 0.85F;  // Brin, Page 1998

}  // namespace

Pagerank::Pagerank(const PagerankSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  const PowerLawGraph graph = make_power_law_graph(sizes_.nodes, seed);
  arguments_.begins = heap_.allocate<unsigned>("begins", graph.begins.size());
  arguments_.sources = heap_.allocate<unsigned>("sources", graph.sources.size());
  arguments_.degrees = heap_.allocate<unsigned>("degrees", sizes_.nodes);
  arguments_.shares = heap_.allocate<float>("shares", sizes_.nodes);
  arguments_.ranks = heap_.allocate<float>("ranks", sizes_.nodes);
  arguments_.damping = kDamping;
  arguments_.rest = (1 - kDamping) / static_cast<float>(sizes_.nodes);
  std::copy(graph.begins.begin(), graph.begins.end(), arguments_.begins.values);
  std::copy(graph.sources.begin(), graph.sources.end(), arguments_.sources.values);
  for (const std::uint32_t source : graph.sources) ++arguments_.degrees.values[source];
  describe();
}

void Pagerank::describe() {
  for (std::uint32_t iteration = 0; iteration < sizes_.iterations; ++iteration) {
    const std::string number = std::to_string(iteration + 1);
    program_.launches.push_back(
        launch("shares " + number, sizes_.nodes / kThreadsPerCta, kThreadsPerCta));
    program_.launches.push_back(
        launch("ranks " + number, sizes_.nodes / (kThreadsPerCta / kNumLanes), kThreadsPerCta));
  }
  program_.launches[0].before = {upload(arguments_.begins), upload(arguments_.sources),
                                 upload(arguments_.degrees), upload(arguments_.ranks)};
  program_.after = {download(arguments_.ranks)};
  finish_program();
}

void Pagerank::reset() {
  std::fill_n(arguments_.shares.values, sizes_.nodes, 0.0F);
  std::fill_n(arguments_.ranks.values, sizes_.nodes, 1 / static_cast<float>(sizes_.nodes));
}

void Pagerank::run(std::uint32_t launch, Cta& cta) {
  if (launch % 2 == 0)
    pagerank_shares(cta, arguments_);
  else
    pagerank_ranks(cta, arguments_);
}

Frontier::Frontier(const FrontierSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  connect(seed);
  arguments_.distances = heap_.allocate<unsigned>("distances", sizes.nodes);
  arguments_.marks = heap_.allocate<unsigned>("marks", sizes.nodes);
  arguments_.frontier = heap_.allocate<unsigned>("frontier 1", sizes.nodes);
  arguments_.next = heap_.allocate<unsigned>("frontier 2", sizes.nodes);
  arguments_.num_next = heap_.allocate<unsigned>("num_next", 1);
  find_launches();
  describe();
}

/// The edges of the graph are turned around: those that lead to a node are few or many.
void Frontier::connect(std::uint64_t seed) {
  const PowerLawGraph graph = make_power_law_graph(sizes_.nodes, seed);
  arguments_.begins = heap_.allocate<unsigned>("begins", graph.begins.size());
  arguments_.targets = heap_.allocate<unsigned>("targets", graph.sources.size());
  std::copy(graph.begins.begin(), graph.begins.end(), arguments_.begins.values);
  std::copy(graph.sources.begin(), graph.sources.end(), arguments_.targets.values);
  if (sizes_.weights == 1) return;
  arguments_.weights = heap_.allocate<unsigned>("weights", graph.sources.size());
  RandomNumbers random(seed + 1);
  std::generate_n(arguments_.weights.values, graph.sources.size(),
                  [&] { return random.below(sizes_.weights) + 1; });
}

/// How long frontiers are depends on the order in which distances become shorter: the launches are
/// those of a run.
void Frontier::find_launches() {
  reset();
  for (std::uint32_t level = 0; level == 0 || *arguments_.num_next.values != 0; ++level) {
    before(level);
    const std::uint32_t num_ctas = (arguments_.num_frontier + kFrontierWarps - 1) / kFrontierWarps;
    program_.launches.push_back(
        launch("frontier " + std::to_string(level), num_ctas, kFrontierWarps * kNumLanes));
    run_silently(level);
  }
}

void Frontier::run_silently(std::uint32_t launch) {
  const trace::Launch& shape = program_.launches[launch];
  std::vector<WarpLog> logs(shape.warps_per_cta);
  for (std::uint32_t index = 0; index < shape.num_ctas; ++index) {
    Cta cta(index, shape.threads_per_cta, logs);
    run(launch, cta);
    for (WarpLog& log : logs) log.clear();
  }
}

void Frontier::describe() {
  const trace::HostStep read_length = step(trace::HostStep::Kind::read, arguments_.num_next);
  const trace::HostStep clear_length = step(trace::HostStep::Kind::write, arguments_.num_next);
  for (trace::Launch& launch : program_.launches) launch.before = {read_length, clear_length};
  constexpr std::uint64_t of_source = std::uint64_t{kSource} * sizeof(unsigned);
  using Kind = trace::HostStep::Kind;
  std::vector<trace::HostStep>& first = program_.launches[0].before;
  first = {upload(arguments_.begins), upload(arguments_.targets)};
  if (sizes_.weights > 1) first.push_back(upload(arguments_.weights));
  reset();  // arrays are exchanged in every launch
  first.push_back({Kind::upload, arguments_.distances.address + of_source, sizeof(unsigned)});
  first.push_back({Kind::upload, arguments_.frontier.address, sizeof(unsigned)});
  first.push_back(clear_length);
  program_.after = {read_length, download(arguments_.distances)};
  finish_program();
}

void Frontier::reset() {
  if (arguments_.next.address < arguments_.frontier.address)
    std::swap(arguments_.frontier, arguments_.next);
  std::fill_n(arguments_.distances.values, sizes_.nodes, kFar);
  std::fill_n(arguments_.marks.values, sizes_.nodes, ~0U);
  *arguments_.num_next.values = 0;
  arguments_.distances.values[kSource] = 0;
  arguments_.frontier.values[0] = kSource;
}

void Frontier::before(std::uint32_t launch) {
  if (launch > 0) std::swap(arguments_.frontier, arguments_.next);
  arguments_.num_frontier = launch == 0 ? 1 : *arguments_.num_next.values;
  arguments_.mark = ~0U - 1 - launch;
  *arguments_.num_next.values = 0;
}

void Frontier::run(std::uint32_t /*launch*/, Cta& cta) { frontier_step(cta, arguments_); }

}  // namespace isthmus::workloads
