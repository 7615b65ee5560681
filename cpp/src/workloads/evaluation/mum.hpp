// Finds DNA reads in the suffix tree of a reference, like MUMmerGPU.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/evaluation/mum_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// Nodes are numbered breadth first: 0 is no node, 1 the root.
struct SuffixTree {
  static constexpr std::uint32_t kNone = 0;
  static constexpr std::uint32_t kRoot = 1;

  struct Node {
    std::uint32_t begin;  ///< in the text: the edge to this node
    std::uint32_t end;
    std::uint32_t suffix_link;  ///< kNone for the root and for leaves
    std::uint32_t parent;
    std::uint32_t children[4];  ///< by first letter; kNone: no child
  };
  std::vector<Node> nodes;
};

/// Builds the tree in linear time. Suffixes that occur elsewhere in the text have no leaf.
///
/// text        letters 0 to 3
/// Source      Ukkonen: On-line construction of suffix trees, Algorithmica 14, 1995
SuffixTree make_suffix_tree(std::span<const std::uint8_t> text);

struct MumSizes {
  std::uint32_t letters = 140'000;  ///< of the reference; as in ISPASS'09
  std::uint32_t reads = 50000;
};

/// 50,000 reads of 25 letters. The genome is random, with the composition and length of the
/// original, Bacillus anthracis; the reference is its beginning, so most reads are outside of it.
/// The cleared matches are copied to the GPU too: this makes the sizes close to those of ispass2009
/// (docs/sources.md).
///
/// Source      layout of nodes, reference and reads: MUMmerGPU 2
class Mum : public Workload {
public:
  /// Bacillus anthracis. Source: GenBank NC_003997.3, 5,227,293 letters, 35 % of them G or C.
  static constexpr std::uint32_t kGenomeLetters = 5'227'293;
  static constexpr std::uint32_t kReadLetters = 25;
  static constexpr std::uint32_t kMinLength = 20;  ///< MUMmerGPU's default

  using Sizes = MumSizes;
  static constexpr SizeOf<MumSizes> kSizes[] = {
      {{.name = "letters",
        .meaning = "letters of the reference",
        .least = 1000,
        .most = kGenomeLetters},
       &MumSizes::letters},
      {{.name = "reads", .meaning = "reads to find", .most = 1U << 22U}, &MumSizes::reads}};

  Mum(const MumSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;
  KernelCall call(std::uint32_t launch) const override;

  const MumSizes& sizes() const { return sizes_; }
  const MumArguments& arguments() const { return arguments_; }
  std::uint32_t num_nodes() const { return num_nodes_; }

private:
  void place_reference(std::span<const std::uint8_t> reference);
  void place_tree(const SuffixTree& tree);
  void take_reads(std::uint64_t seed, std::span<const std::uint8_t> reference);
  void describe();

  MumSizes sizes_;
  MumArguments arguments_{};
  std::uint32_t num_nodes_ = 0;
};

}  // namespace isthmus::workloads
