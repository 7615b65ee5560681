// PageRank of a power-law graph.
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/pagerank_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// 131,072 nodes, each with about 17 incoming edges; three iterations of two launches.
class Pagerank : public Workload {
public:
  static constexpr std::uint32_t kNumNodes = 1U << 17U;
  static constexpr std::uint32_t kNumIterations = 3;

  explicit Pagerank(std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const PagerankArguments& arguments() const { return arguments_; }

private:
  void describe();

  PagerankArguments arguments_{};
};

std::unique_ptr<Workload> make_pagerank(std::uint64_t seed);

}  // namespace isthmus::workloads
