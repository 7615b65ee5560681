// The suffix tree of a text over four letters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

}  // namespace isthmus::workloads
