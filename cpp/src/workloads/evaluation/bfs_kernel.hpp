// Breadth-first search, level by level: one thread for each node, idle unless its node is in the
// frontier. Results don't depend on the order of threads: nodes added to the frontier during a
// launch wait for the next one.
#pragma once

#include "workloads/recording/array.hpp"

namespace isthmus::workloads {

struct BfsNode {
  unsigned first_edge;
  unsigned num_edges;
};

struct BfsArguments {
  Array<BfsNode> nodes;
  Array<unsigned> edges;          ///< the other ends
  Array<unsigned char> frontier;  ///< 1: visit the node's neighbours
  Array<unsigned char> reached;
  Array<int> cost;             ///< edges from the source; -1: not reached
  Array<unsigned char> go_on;  ///< [1]; 1: the frontier isn't empty
  int level;
};

// Instructions of a thread, calibrated: ISPASS'09 counts 17 M in total, including idle nodes.
inline constexpr unsigned kBfsStart = 13;   ///< thread number, bounds, address, test
inline constexpr unsigned kBfsNode = 16;    ///< addresses, test of the level, loop set-up
inline constexpr unsigned kBfsEdge = 11;    ///< addresses, test, loop
inline constexpr unsigned kBfsReached = 6;  ///< addresses

/// Puts a node into the next frontier.
template <class Warp, class Index>
void bfs_reach(Warp& warp, const BfsArguments& in, const Index& node) {
  const auto yes = warp.lanes(static_cast<unsigned char>(1));
  warp.compute(kBfsReached);
  warp.store(in.reached, node, yes);
  warp.store(in.cost, node, warp.lanes(in.level + 1));
  warp.store(in.frontier, node, yes);
  warp.store(in.go_on, warp.lanes(0U), yes);
}

/// Calls `visit(neighbour)` for the other end of each of a node's edges. `in` has nodes and edges.
template <class Warp, class Graph, class Index, class Visit>
void bfs_each_neighbour(Warp& warp, const Graph& in, const Index& node, const Visit& visit) {
  const auto about = warp.load(in.nodes, node);
  auto edge = warp.map([](const BfsNode& n) { return n.first_edge; }, about);
  const auto end = warp.map([](const BfsNode& n) { return n.first_edge + n.num_edges; }, about);
  warp.loop([&] { return edge < end; },
            [&] {
              const auto neighbour = warp.load(in.edges, edge);
              warp.compute(kBfsEdge);
              visit(neighbour);
              warp.set(edge, edge + 1);
            });
}

/// Takes a node from the frontier and visits its neighbours.
template <class Warp, class Index>
void bfs_visit(Warp& warp, const BfsArguments& in, const Index& node) {
  warp.store(in.frontier, node, warp.lanes(static_cast<unsigned char>(0)));
  bfs_each_neighbour(warp, in, node, [&](const auto& neighbour) {
    warp.when(warp.load(in.reached, neighbour) == 0, [&] { bfs_reach(warp, in, neighbour); });
  });
}

template <class Cta>
void bfs_level(Cta& cta, const BfsArguments& in) {
  cta.each_warp([&](auto& warp) {
    const auto node = warp.thread() + cta.index() * cta.num_threads();
    warp.compute(kBfsStart);
    warp.when(warp.load(in.frontier, node) != 0, [&] {
      warp.compute(kBfsNode);
      warp.when(warp.load(in.cost, node) == in.level, [&] { bfs_visit(warp, in, node); });
    });
  });
}

}  // namespace isthmus::workloads
