#include "workloads/modern/pagerank.hpp"

#include <algorithm>
#include <string>

#include "workloads/modern/power_law_graph.hpp"

namespace isthmus::workloads {
namespace {

constexpr std::uint32_t kThreadsPerCta = 128;
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

}  // namespace isthmus::workloads
