#include "workloads/evaluation/suffix_tree.hpp"

#include <algorithm>

namespace isthmus::workloads {
namespace {

using Node = SuffixTree::Node;

/// Nodes in order of creation; leaves extend to the end of the text.
class Builder {
public:
  explicit Builder(std::span<const std::uint8_t> text) : text_(text) {
    nodes_.reserve(2 * text.size() + 2);
    nodes_.resize(2);  // 0: none, 1: the root
    // The position of the letters that were read but are in no edge yet: below active_,
    // active_length_ letters along the edge that begins with the letter at active_edge_.
    for (std::uint32_t i = 0; i < text.size(); ++i) add_letter(i);
  }

  std::vector<Node>& nodes() { return nodes_; }

private:
  std::uint32_t add_node(std::uint32_t begin, std::uint32_t end, std::uint32_t link) {
    nodes_.push_back({begin, end, link, SuffixTree::kNone, {}});
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  std::uint32_t add_leaf(std::uint32_t begin) {
    return add_node(begin, static_cast<std::uint32_t>(text_.size()), SuffixTree::kNone);
  }

  void add_letter(std::uint32_t i) {
    unlinked_ = SuffixTree::kNone;
    for (++num_pending_; num_pending_ > 0;) {
      if (active_length_ == 0) active_edge_ = i;
      const std::uint32_t child = nodes_[active_].children[text_[active_edge_]];
      if (child == SuffixTree::kNone) {
        const std::uint32_t leaf = add_leaf(i);
        nodes_[active_].children[text_[active_edge_]] = leaf;
        link_to(active_);
      } else {
        if (walk_down(child, i)) continue;
        if (text_[nodes_[child].begin + active_length_] == text_[i]) {
          link_to(active_);
          ++active_length_;
          return;
        }
        split(child, i);
      }
      --num_pending_;
      shorten(i);
    }
  }

  bool walk_down(std::uint32_t child, std::uint32_t i) {
    const std::uint32_t length = std::min(nodes_[child].end, i + 1) - nodes_[child].begin;
    if (active_length_ < length) return false;
    active_edge_ += length;
    active_length_ -= length;
    active_ = child;
    return true;
  }

  void split(std::uint32_t child, std::uint32_t i) {
    const std::uint32_t begin = nodes_[child].begin;
    const std::uint32_t middle = add_node(begin, begin + active_length_, SuffixTree::kRoot);
    nodes_[active_].children[text_[begin]] = middle;
    const std::uint32_t leaf = add_leaf(i);
    nodes_[middle].children[text_[i]] = leaf;
    nodes_[child].begin += active_length_;
    nodes_[middle].children[text_[nodes_[child].begin]] = child;
    link_to(middle);
    unlinked_ = middle;
  }

  /// Links the inner node created last in this step to the branch of the next shorter suffix.
  void link_to(std::uint32_t node) {
    if (unlinked_ != SuffixTree::kNone) nodes_[unlinked_].suffix_link = node;
    unlinked_ = SuffixTree::kNone;
  }

  /// Moves to the next shorter suffix.
  void shorten(std::uint32_t i) {
    if (active_ != SuffixTree::kRoot) {
      active_ = nodes_[active_].suffix_link;
    } else if (active_length_ > 0) {
      --active_length_;
      active_edge_ = i - num_pending_ + 1;
    }
  }

  std::span<const std::uint8_t> text_;
  std::vector<Node> nodes_;
  std::uint32_t active_ = SuffixTree::kRoot;
  std::uint32_t active_edge_ = 0;
  std::uint32_t active_length_ = 0;
  std::uint32_t num_pending_ = 0;
  std::uint32_t unlinked_ = SuffixTree::kNone;
};

/// The same tree with its nodes in breadth-first order.
std::vector<Node> by_breadth(const std::vector<Node>& made) {
  std::vector<std::uint32_t> order{SuffixTree::kNone, SuffixTree::kRoot};
  std::vector<std::uint32_t> numbers(made.size());
  order.reserve(made.size());
  numbers[SuffixTree::kRoot] = SuffixTree::kRoot;
  for (std::uint32_t next = SuffixTree::kRoot; next < order.size(); ++next) {
    for (const std::uint32_t child : made[order[next]].children) {
      if (child == SuffixTree::kNone) continue;
      numbers[child] = static_cast<std::uint32_t>(order.size());
      order.push_back(child);
    }
  }
  std::vector<Node> nodes(order.size());
  for (std::uint32_t number = SuffixTree::kRoot; number < order.size(); ++number) {
    Node& node = nodes[number];
    const std::uint32_t parent = node.parent;  // set when its parent was renumbered
    node = made[order[number]];
    node.parent = parent;
    node.suffix_link = numbers[node.suffix_link];
    for (std::uint32_t& child : node.children) {
      child = numbers[child];
      if (child != SuffixTree::kNone) nodes[child].parent = number;
    }
  }
  return nodes;
}

}  // namespace

SuffixTree make_suffix_tree(std::span<const std::uint8_t> text) {
  Builder builder(text);
  return {by_breadth(builder.nodes())};
}

}  // namespace isthmus::workloads
