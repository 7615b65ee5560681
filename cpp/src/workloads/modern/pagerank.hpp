// PageRank of a power-law graph.
#pragma once

#include <cstdint>

#include "workloads/modern/pagerank_kernel.hpp"
#include "workloads/sizes.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct PagerankSizes {
  std::uint32_t nodes = 1U << 17U;
  std::uint32_t iterations = 3;
};

/// 131,072 nodes, each with about 17 incoming edges; three iterations of two launches.
class Pagerank : public Workload {
public:
  using Sizes = PagerankSizes;
  static constexpr SizeOf<PagerankSizes> kSizes[] = {
      {{.name = "nodes",
        .meaning = "nodes of the graph",
        .least = 1024,
        .most = 1U << 24U,
        .power_of_two = true},
       &PagerankSizes::nodes},
      {{.name = "iterations", .meaning = "iterations, of two launches each", .most = 1000},
       &PagerankSizes::iterations}};

  Pagerank(const PagerankSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const PagerankSizes& sizes() const { return sizes_; }
  const PagerankArguments& arguments() const { return arguments_; }

private:
  void describe();

  PagerankSizes sizes_;
  PagerankArguments arguments_{};
};

}  // namespace isthmus::workloads
