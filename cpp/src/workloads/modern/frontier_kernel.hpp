// Shortest distances from one node, a frontier at a time: a launch takes the nodes whose distance
// became shorter in the launch before, and puts those that they make shorter into the next frontier.
// One warp for each node of the frontier; it reads the node's edges from a multiple of 128 bytes on.
// Without weights a distance is a number of edges, and no node is in two frontiers.
//
// Source      a warp's reads of edges: Min et al., EMOGI, VLDB 2020. The frontier as a list: Merrill
//             2012
#pragma once

#include "workloads/recording/array.hpp"

namespace isthmus::workloads {

struct FrontierArguments {
  Array<unsigned> begins;   ///< [nodes + 1], of each node's edges
  Array<unsigned> targets;  ///< where these edges lead
  Array<unsigned> weights;  ///< like targets; empty: all are 1
  Array<unsigned> distances;
  Array<unsigned> marks;  ///< for each node the mark of the last launch that put it into a frontier
  Array<unsigned> frontier;  ///< [nodes], of which num_frontier are there
  Array<unsigned> next;      ///< [nodes], the next frontier
  Array<unsigned> num_next;  ///< [1]
  unsigned num_frontier;
  unsigned mark;  ///< of this launch; less than all before
};

inline constexpr unsigned kFrontierWarps = 4;  ///< in a CTA

// Instructions of a thread, counted in the source.
inline constexpr unsigned kFrontierNode = 24;  ///< indices, bounds, alignment
inline constexpr unsigned kFrontierEdge = 14;  ///< addresses, sum, comparison, loop
inline constexpr unsigned kFrontierReach = 6;  ///< address, comparison
inline constexpr unsigned kFrontierNext = 5;   ///< address

/// Makes a node's distance shorter, and puts the node into the next frontier, once.
template <class Warp, class Index>
void frontier_reach(Warp& warp, const FrontierArguments& in, const Index& target,
                    const Index& distance) {
  warp.compute(kFrontierReach);
  const auto before = warp.atomic_min(in.distances, target, distance);
  warp.when(distance < before, [&] {
    warp.compute(kFrontierReach);
    const auto seen = warp.atomic_min(in.marks, target, warp.lanes(in.mark));
    warp.when(warp.lanes(in.mark) < seen, [&] {
      const auto place = warp.atomic_add(in.num_next, warp.lanes(0U), warp.lanes(1U));
      warp.compute(kFrontierNext);
      warp.store(in.next, place, target);
    });
  });
}

template <class Warp, class Index>
void frontier_edge(Warp& warp, const FrontierArguments& in, const Index& edge,
                   const Index& distance) {
  const auto target = warp.load(in.targets, edge);
  auto length = warp.lanes(1U);
  if (in.weights.num_elements != 0) length = warp.load(in.weights, edge);
  const auto sum = distance + length;
  warp.compute(kFrontierEdge);
  warp.when(sum < warp.load(in.distances, target), [&] { frontier_reach(warp, in, target, sum); });
}

template <class Cta>
void frontier_step(Cta& cta, const FrontierArguments& in) {
  cta.each_warp([&](auto& warp) {
    const unsigned place = cta.index() * cta.num_warps() + warp.index();
    warp.compute(kFrontierNode);
    if (place >= in.num_frontier) return;
    const auto node = warp.load(in.frontier, warp.lanes(place));
    const auto begin = warp.load(in.begins, node);
    const auto end = warp.load(in.begins, node + 1);
    const auto distance = warp.load(in.distances, node);
    auto edge = (begin & ~31U) + warp.lane();
    warp.loop([&] { return edge < end; },
              [&] {
                warp.when(!(edge < begin), [&] { frontier_edge(warp, in, edge, distance); });
                warp.set(edge, edge + 32);
              });
  });
}

}  // namespace isthmus::workloads
