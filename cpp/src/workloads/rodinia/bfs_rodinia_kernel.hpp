// Breadth-first search with two kernels for each level: the first marks what the frontier reaches,
// the second makes that the frontier.
#pragma once

#include "workloads/evaluation/bfs_kernel.hpp"
#include "workloads/recording/array.hpp"

namespace isthmus::workloads {

struct BfsRodiniaArguments {
  Array<BfsNode> nodes;
  Array<unsigned> edges;          ///< the other ends
  Array<unsigned char> frontier;  ///< 1: visit the node's neighbours
  Array<unsigned char> marked;    ///< 1: reached in this level
  Array<unsigned char> reached;
  Array<int> cost;             ///< edges from the source; -1: not reached
  Array<unsigned char> go_on;  ///< [1]; 1: the frontier isn't empty
};

// Instructions of a thread, counted in the source; where code is as in bfs_kernel.hpp, as there.
inline constexpr unsigned kBfsRodiniaMark = 5;  ///< addresses, sum
inline constexpr unsigned kBfsRodiniaMove = 4;  ///< addresses

/// A neighbour that wasn't reached yet is, at one edge more.
template <class Warp, class Numbers>
void bfs_rodinia_reach(Warp& warp, const BfsRodiniaArguments& in, const Numbers& node,
                       const Numbers& neighbour) {
  warp.when(warp.load(in.reached, neighbour) == 0, [&] {
    warp.compute(kBfsRodiniaMark);
    warp.store(in.cost, neighbour, warp.load(in.cost, node) + 1);
    warp.store(in.marked, neighbour, warp.lanes(static_cast<unsigned char>(1)));
  });
}

template <class Cta>
void bfs_rodinia_visit(Cta& cta, const BfsRodiniaArguments& in) {
  cta.each_warp([&](auto& warp) {
    const auto node = warp.thread() + cta.index() * cta.num_threads();
    warp.compute(kBfsStart);
    warp.when(warp.load(in.frontier, node) != 0, [&] {
      warp.compute(kBfsNode);
      warp.store(in.frontier, node, warp.lanes(static_cast<unsigned char>(0)));
      bfs_each_neighbour(warp, in, node, [&](const auto& neighbour) {
        bfs_rodinia_reach(warp, in, node, neighbour);
      });
    });
  });
}

template <class Cta>
void bfs_rodinia_move(Cta& cta, const BfsRodiniaArguments& in) {
  cta.each_warp([&](auto& warp) {
    const auto node = warp.thread() + cta.index() * cta.num_threads();
    warp.compute(kBfsStart);
    warp.when(warp.load(in.marked, node) != 0, [&] {
      const auto yes = warp.lanes(static_cast<unsigned char>(1));
      warp.compute(kBfsRodiniaMove);
      warp.store(in.frontier, node, yes);
      warp.store(in.reached, node, yes);
      warp.store(in.go_on, warp.lanes(0U), yes);
      warp.store(in.marked, node, warp.lanes(static_cast<unsigned char>(0)));
    });
  });
}

}  // namespace isthmus::workloads
