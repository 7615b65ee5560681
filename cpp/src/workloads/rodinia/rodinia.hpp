// Breadth-first search and nearest neighbours as in Rodinia.
#pragma once

#include <cstdint>

#include "workloads/rodinia/bfs_rodinia_kernel.hpp"
#include "workloads/rodinia/nn_rodinia_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

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

struct NnRodiniaSizes {
  std::uint32_t places = 42764;
};

/// The distances of hurricanes from a place; the CPU finds the smallest. It has nothing but its name
/// in common with Nn, a neural network. Zhang 2019 says that its NN is Rodinia's.
///
/// Source      Rodinia 3.1, cuda/nn (nn_cuda.cu); filelist_4 has 42,764 records
class NnRodinia : public Workload {
public:
  static constexpr std::uint32_t kThreadsPerCta = 256;

  using Sizes = NnRodiniaSizes;
  static constexpr SizeOf<NnRodiniaSizes> kSizes[] = {
      {{.name = "places", .meaning = "places with distances", .least = 1, .most = 1U << 27U},
       &NnRodiniaSizes::places}};

  NnRodinia(const NnRodiniaSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const NnRodiniaArguments& arguments() const { return arguments_; }

private:
  NnRodiniaArguments arguments_{};
};

}  // namespace isthmus::workloads
