// PageRank of a power-law graph.
//
// PageRank by pulling: every node divides its rank among its outgoing edges, then sums the shares
// of its incoming edges. First one thread for each node, then one warp.
#pragma once

#include <cstdint>

#include "workloads/recording/array.hpp"
#include "workloads/sizes.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct PagerankArguments {
  Array<unsigned> begins;   ///< [nodes + 1], into a node's incoming edges
  Array<unsigned> sources;  ///< where these edges come from
  Array<unsigned> degrees;  ///< outgoing edges of each node
  Array<float> shares;      ///< of each node's rank, for one outgoing edge
  Array<float> ranks;
  float damping;
  float rest;  ///< the rank of a node without incoming edges
};

// Instructions of a thread, counted in the source.
inline constexpr unsigned kPagerankShare = 16;
inline constexpr unsigned kPagerankNode = 22;  ///< including five steps of the sum
inline constexpr unsigned kPagerankEdge = 7;

template <class Cta>
void pagerank_shares(Cta& cta, const PagerankArguments& in) {
  cta.each_warp([&](auto& warp) {
    const auto node = warp.thread() + cta.index() * cta.num_threads();
    const auto share = [](float rank, unsigned degree) {
      return degree == 0 ? 0.0F : rank / static_cast<float>(degree);
    };
    const auto rank = warp.load(in.ranks, node);
    const auto degree = warp.load(in.degrees, node);
    warp.compute(kPagerankShare);
    warp.store(in.shares, node, warp.map(share, rank, degree));
  });
}

template <class Cta>
void pagerank_ranks(Cta& cta, const PagerankArguments& in) {
  cta.each_warp([&](auto& warp) {
    const auto node = warp.lanes(cta.index() * cta.num_warps() + warp.index());
    auto edge = warp.load(in.begins, node) + warp.lane();
    const auto end = warp.load(in.begins, node + 1);
    auto sum = warp.lanes(0.0F);
    warp.loop([&] { return edge < end; },
              [&] {
                warp.set(sum, sum + warp.load(in.shares, warp.load(in.sources, edge)));
                warp.set(edge, edge + 32);
                warp.compute(kPagerankEdge);
              });
    const auto rank = warp.sum_of_lanes(sum) * in.damping + in.rest;
    warp.compute(kPagerankNode);
    warp.when(warp.lane() == 0, [&] { warp.store(in.ranks, node, rank); });
  });
}

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
