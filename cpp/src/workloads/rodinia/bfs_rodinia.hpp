// Breadth-first search as in Rodinia.
//
// Breadth-first search with two kernels for each level: the first marks what the frontier reaches,
// the second makes that the frontier.
#pragma once

#include <cstdint>

#include "workloads/evaluation/bfs_kernel.hpp"
#include "workloads/recording/array.hpp"
#include "workloads/sizes.hpp"
#include "workloads/workload.hpp"

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

struct BfsRodiniaSizes {
  std::uint32_t nodes = 65536;
  std::uint32_t edges = 6;  ///< of a node, on average
};

/// The same search as Bfs, over the same graph, by the program of another suite: two kernels for
/// each level, one more array, 512 threads a CTA. Zhang 2019 says that its BFS is Rodinia's.
///
/// Source      Rodinia 3.1, cuda/bfs (bfs.cu, kernel.cu, kernel2.cu)
class BfsRodinia : public Workload {
public:
  static constexpr std::uint32_t kThreadsPerCta = 512;
  static constexpr std::uint32_t kSource = 0;

  using Sizes = BfsRodiniaSizes;
  static constexpr SizeOf<BfsRodiniaSizes> kSizes[] = {{{.name = "nodes",
                                                         .meaning = "nodes of the graph",
                                                         .least = 512,
                                                         .most = 1U << 24U,
                                                         .multiple = kThreadsPerCta},
                                                        &BfsRodiniaSizes::nodes},
                                                       {{.name = "edges",
                                                         .meaning = "edges of a node, on average",
                                                         .least = 2,
                                                         .most = 64,
                                                         .multiple = 2},
                                                        &BfsRodiniaSizes::edges}};

  BfsRodinia(const BfsRodiniaSizes& sizes, std::uint64_t seed);

  void reset() override;
  void before(std::uint32_t launch) override;
  void run(std::uint32_t launch, Cta& cta) override;

  const BfsRodiniaArguments& arguments() const { return arguments_; }

private:
  void describe();

  BfsRodiniaSizes sizes_;
  BfsRodiniaArguments arguments_{};
};

}  // namespace isthmus::workloads
