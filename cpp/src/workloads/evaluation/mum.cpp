#include "workloads/evaluation/mum.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "workloads/recording/random_numbers.hpp"

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

namespace {

constexpr std::uint64_t kPublishedInstructions = 77'000'000;  // ISPASS'09, Table 1; 140,000 letters
constexpr std::uint32_t kThreadsPerCta = 256;
constexpr float kShareOfGc = 0.35F;  // see kGenomeLetters
/// Reads are stored as text: a letter before each gives its type, a zero ends it.
constexpr std::uint32_t kBytesPerRead = Mum::kReadLetters + 2;

/// A, C, G, T = 0 to 3.
std::uint8_t random_letter(RandomNumbers& random) {
  const float value = random.uniform();
  const bool is_gc = value < kShareOfGc;
  const bool is_first = is_gc ? value < kShareOfGc / 2 : value < (1 + kShareOfGc) / 2;
  if (is_gc) return is_first ? 1 : 2;
  return is_first ? 0 : 3;
}

}  // namespace

Mum::Mum(const MumSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  RandomNumbers random(seed);
  std::vector<std::uint8_t> reference(sizes.letters);
  std::generate(reference.begin(), reference.end(), [&] { return random_letter(random); });
  place_reference(reference);
  place_tree(make_suffix_tree(reference));
  take_reads(random.next(), reference);
  describe();
}

void Mum::place_reference(std::span<const std::uint8_t> reference) {
  const std::uint64_t num_letters = reference.size();
  // Four more rows than the letters fill: the last block of four may be incomplete.
  const std::uint64_t num_rows =
      (num_letters + kMumReferenceWidth - 1) / kMumReferenceWidth + kMumReferenceColumn;
  arguments_.reference = heap_.allocate<unsigned char>("reference", num_rows * kMumReferenceWidth);
  for (std::uint32_t i = 0; i < num_letters; ++i)
    arguments_.reference.values[mum_reference_texel(i)] = reference[i];
}

void Mum::place_tree(const SuffixTree& tree) {
  num_nodes_ = static_cast<std::uint32_t>(tree.nodes.size());
  const std::uint64_t num_blocks = (num_nodes_ + kMumBlock - 1) / kMumBlock;
  const std::uint64_t num_texels = num_blocks * kMumBlock;
  arguments_.nodes = heap_.allocate<MumNode>("nodes", num_texels);
  arguments_.children = heap_.allocate<MumChildren>("children", num_texels);
  for (std::uint32_t number = 0; number < num_nodes_; ++number) {
    const SuffixTree::Node& node = tree.nodes[number];
    const unsigned texel = mum_texel(number);
    arguments_.nodes.values[texel] = {node.begin, node.end, node.suffix_link, node.parent};
    std::copy_n(node.children, 4, arguments_.children.values[texel].by_letter);
  }
}

void Mum::take_reads(std::uint64_t seed, std::span<const std::uint8_t> reference) {
  arguments_.reads =
      heap_.allocate<unsigned char>("reads", std::uint64_t{sizes_.reads} * kBytesPerRead);
  arguments_.read_begins = heap_.allocate<unsigned>("read_begins", sizes_.reads);
  arguments_.read_lengths = heap_.allocate<unsigned>("read_lengths", sizes_.reads);
  RandomNumbers random(seed);
  for (std::uint32_t read = 0; read < sizes_.reads; ++read) {
    const std::uint32_t begin = read * kBytesPerRead + 1;
    const std::uint32_t from = random.below(kGenomeLetters - kReadLetters);
    unsigned char* letters = arguments_.reads.values + begin;
    if (from + kReadLetters <= reference.size())
      std::copy_n(reference.begin() + from, kReadLetters, letters);
    else  // from the rest of the genome, which is used nowhere else
      std::generate_n(letters, kReadLetters, [&] { return random_letter(random); });
    arguments_.read_begins.values[read] = begin;
    arguments_.read_lengths.values[read] = kReadLetters;
  }
}

void Mum::describe() {
  arguments_.num_reads = sizes_.reads;
  arguments_.num_starts = kReadLetters - kMinLength + 1;
  arguments_.min_length = kMinLength;
  arguments_.matches =
      heap_.allocate<MumMatch>("matches", std::uint64_t{sizes_.reads} * arguments_.num_starts);
  const std::uint32_t num_ctas = (sizes_.reads + kThreadsPerCta - 1) / kThreadsPerCta;
  trace::Launch& match = program_.launches.emplace_back(launch("match", num_ctas, kThreadsPerCta));
  match.before = {upload(arguments_.reference),   upload(arguments_.nodes),
                  upload(arguments_.children),    upload(arguments_.reads),
                  upload(arguments_.read_begins), upload(arguments_.read_lengths),
                  upload(arguments_.matches)};
  program_.after = {download(arguments_.matches)};
  if (sizes_.letters == MumSizes().letters) program_.thread_instructions = kPublishedInstructions;
  finish_program();
}

void Mum::reset() {
  std::fill_n(arguments_.matches.values, arguments_.matches.num_elements, MumMatch{});
}

void Mum::run(std::uint32_t /*launch*/, Cta& cta) { mum_reads(cta, arguments_); }

KernelCall Mum::call(std::uint32_t /*launch*/) const {
  return kernel_call("mum_reads", arguments_);
}

}  // namespace isthmus::workloads
