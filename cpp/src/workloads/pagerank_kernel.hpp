// PageRank by pulling: every node shares its rank among the edges that leave it, then adds up what
// its own edges bring. A thread for each node, then a warp for each node.
#pragma once

#include "workloads/array.hpp"

namespace isthmus::workloads {

struct PagerankArguments {
  Array<unsigned> begins;   ///< [nodes + 1] of the edges that lead to a node
  Array<unsigned> sources;  ///< where they come from
  Array<unsigned> degrees;  ///< how many leave each node
  Array<float> shares;      ///< of each node's rank, for each edge that leaves it
  Array<float> ranks;
  float damping;
  float rest;  ///< what a node has without any edge
};

// Instructions of a thread, counted on the source.
inline constexpr unsigned kPagerankShare = 16;
inline constexpr unsigned kPagerankNode = 22;  ///< with five steps of adding up
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
