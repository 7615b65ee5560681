#include "workloads/rodinia/rodinia.hpp"

#include <algorithm>
#include <string>

#include "workloads/evaluation/bfs.hpp"
#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {

BfsRodinia::BfsRodinia(const BfsRodiniaSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  const std::uint64_t num_edges = std::uint64_t{sizes_.nodes} * sizes_.edges;
  arguments_.nodes = heap_.allocate<BfsNode>("nodes", sizes_.nodes);
  arguments_.edges = heap_.allocate<unsigned>("edges", num_edges);
  arguments_.frontier = heap_.allocate<unsigned char>("mask", sizes_.nodes);
  arguments_.marked = heap_.allocate<unsigned char>("updating mask", sizes_.nodes);
  arguments_.reached = heap_.allocate<unsigned char>("visited", sizes_.nodes);
  arguments_.cost = heap_.allocate<int>("cost", sizes_.nodes);
  arguments_.go_on = heap_.allocate<unsigned char>("over", 1);
  join_randomly(arguments_.nodes, arguments_.edges, sizes_.edges, seed);
  describe();
}

void BfsRodinia::describe() {
  const std::uint32_t levels = num_levels(arguments_.nodes, arguments_.edges, kSource);
  const trace::HostStep read_flag = step(trace::HostStep::Kind::read, arguments_.go_on);
  const trace::HostStep clear_flag = step(trace::HostStep::Kind::write, arguments_.go_on);
  const std::uint32_t num_ctas = sizes_.nodes / kThreadsPerCta;
  for (std::uint32_t level = 0; level < levels; ++level) {
    const std::string number = std::to_string(level);
    trace::Launch& visit =
        program_.launches.emplace_back(launch("visit " + number, num_ctas, kThreadsPerCta));
    if (level == 0)
      visit.before = {upload(arguments_.nodes),    upload(arguments_.edges),
                      upload(arguments_.frontier), upload(arguments_.marked),
                      upload(arguments_.reached),  upload(arguments_.cost)};
    else
      visit.before.push_back(read_flag);
    visit.before.push_back(clear_flag);
    program_.launches.push_back(launch("move " + number, num_ctas, kThreadsPerCta));
  }
  program_.after = {read_flag, download(arguments_.cost)};
  finish_program();
}

void BfsRodinia::reset() {
  for (const Array<unsigned char>& array :
       {arguments_.frontier, arguments_.marked, arguments_.reached})
    std::fill_n(array.values, sizes_.nodes, static_cast<unsigned char>(0));
  std::fill_n(arguments_.cost.values, sizes_.nodes, -1);
  arguments_.frontier.values[kSource] = 1;
  arguments_.reached.values[kSource] = 1;
  arguments_.cost.values[kSource] = 0;
}

void BfsRodinia::before(std::uint32_t launch) {
  if (launch % 2 == 0) *arguments_.go_on.values = 0;
}

void BfsRodinia::run(std::uint32_t launch, Cta& cta) {
  if (launch % 2 == 0)
    bfs_rodinia_visit(cta, arguments_);
  else
    bfs_rodinia_move(cta, arguments_);
}

NnRodinia::NnRodinia(const NnRodiniaSizes& sizes, std::uint64_t seed) {
  arguments_.places = heap_.allocate<NnRodiniaPlace>("locations", sizes.places);
  arguments_.distances = heap_.allocate<float>("distances", sizes.places);
  arguments_.latitude = 30;
  arguments_.longitude = 90;
  RandomNumbers random(seed);
  std::generate_n(arguments_.places.values, sizes.places, [&] {
    const float latitude = 7 + 63 * random.uniform();
    return NnRodiniaPlace{latitude, 358 * random.uniform()};
  });
  trace::Launch& distances = program_.launches.emplace_back(
      launch("distances", (sizes.places + kThreadsPerCta - 1) / kThreadsPerCta, kThreadsPerCta));
  distances.before = {upload(arguments_.places)};
  program_.after = {download(arguments_.distances)};
  finish_program();
}

void NnRodinia::reset() {
  std::fill_n(arguments_.distances.values, arguments_.distances.num_elements, 0.0F);
}

void NnRodinia::run(std::uint32_t /*launch*/, Cta& cta) { nn_rodinia_distances(cta, arguments_); }

}  // namespace isthmus::workloads
