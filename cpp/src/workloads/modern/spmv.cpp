#include "workloads/modern/spmv.hpp"

#include <algorithm>

#include "workloads/modern/power_law_graph.hpp"
#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {
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

}  // namespace isthmus::workloads
