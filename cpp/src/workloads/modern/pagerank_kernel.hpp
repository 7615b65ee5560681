// PageRank by pulling: every node divides its rank among its outgoing edges, then sums the shares
// of its incoming edges. First one thread for each node, then one warp.
#pragma once

#include "workloads/recording/array.hpp"

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

}  // namespace isthmus::workloads
