#include "workloads/evaluation/mum.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {
namespace {

using Letters = std::vector<std::uint8_t>;

Letters random_letters(std::uint32_t count, std::uint32_t alphabet, std::uint64_t seed) {
  RandomNumbers random(seed);
  Letters letters(count);
  for (std::uint8_t& letter : letters) letter = static_cast<std::uint8_t>(random.below(alphabet));
  return letters;
}

std::string text_of(const Letters& letters, std::uint32_t begin, std::uint32_t end) {
  std::string text;
  for (std::uint32_t i = begin; i < end; ++i) text += static_cast<char>('0' + letters[i]);
  return text;
}

/// The letters on the path from the root.
std::string path_to(const SuffixTree& tree, const Letters& letters, std::uint32_t number) {
  std::string path;
  for (; number > SuffixTree::kRoot; number = tree.nodes[number].parent)
    path = text_of(letters, tree.nodes[number].begin, tree.nodes[number].end) + path;
  return path;
}

/// All prefixes of all paths: the words that the tree accepts.
std::set<std::string> words_of(const SuffixTree& tree, const Letters& letters) {
  std::set<std::string> words;
  for (std::uint32_t number = SuffixTree::kRoot; number < tree.nodes.size(); ++number) {
    const std::string path = path_to(tree, letters, number);
    for (std::size_t length = 0; length <= path.size(); ++length)
      words.insert(path.substr(0, length));
  }
  return words;
}

std::set<std::string> substrings_of(const std::string& text) {
  std::set<std::string> words{""};
  for (std::size_t begin = 0; begin < text.size(); ++begin)
    for (std::size_t length = 1; begin + length <= text.size(); ++length)
      words.insert(text.substr(begin, length));
  return words;
}

TEST(SuffixTree, AcceptsEverySubstringAndNothingElse) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const Letters letters = random_letters(1 + seed, 1 + seed % 4, seed);
    const SuffixTree tree = make_suffix_tree(letters);
    EXPECT_EQ(words_of(tree, letters),
              substrings_of(text_of(letters, 0, static_cast<std::uint32_t>(letters.size()))))
        << "seed " << seed;
  }
}

TEST(SuffixTree, LinksEveryInnerNodeToItsPathWithoutTheFirstLetter) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const Letters letters = random_letters(40 + seed, 2 + seed % 3, seed);
    const SuffixTree tree = make_suffix_tree(letters);
    for (std::uint32_t number = SuffixTree::kRoot + 1; number < tree.nodes.size(); ++number) {
      const SuffixTree::Node& node = tree.nodes[number];
      bool is_leaf = true;
      for (const std::uint32_t child : node.children) is_leaf &= child == SuffixTree::kNone;
      if (is_leaf)
        EXPECT_EQ(node.suffix_link, SuffixTree::kNone);
      else
        EXPECT_EQ(path_to(tree, letters, node.suffix_link),
                  path_to(tree, letters, number).substr(1))
            << "seed " << seed << ", node " << number;
    }
  }
}

TEST(SuffixTree, NumbersNodesByBreadthFirst) {
  const Letters letters = random_letters(1000, 4, 1);
  const SuffixTree tree = make_suffix_tree(letters);
  std::uint32_t last_parent = 0;
  for (std::uint32_t number = SuffixTree::kRoot + 1; number < tree.nodes.size(); ++number) {
    ASSERT_GE(tree.nodes[number].parent, last_parent);
    last_parent = tree.nodes[number].parent;
  }
}

}  // namespace
}  // namespace isthmus::workloads
