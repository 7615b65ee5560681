#include "workloads/evaluation/mum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;

Recorded<Mum>& short_reference() {
  static Recorded<Mum> run(std::make_unique<Mum>(MumSizes{.letters = 140'000}, 1));
  return run;
}

Recorded<Mum>& long_reference() {
  static Recorded<Mum> run(std::make_unique<Mum>(MumSizes{.letters = 1'400'000}, 1));
  return run;
}

/// Finds where a word may occur in the reference by its first 20 letters, without a tree.
class WordIndex {
public:
  WordIndex(const MumArguments& in, std::uint32_t num_letters) {
    for (std::uint32_t i = 0; i < num_letters; ++i)
      reference_ += static_cast<char>(in.reference.values[mum_reference_texel(i)]);
    for (std::size_t begin = 0; begin + Mum::kMinLength <= reference_.size(); ++begin)
      places_.emplace_back(key(std::string_view(reference_).substr(begin)), begin);
    std::sort(places_.begin(), places_.end());
  }

  /// How many letters from the word's start occur in the reference; 0 below 20.
  std::size_t match(std::string_view word) const {
    if (word.size() < Mum::kMinLength) return 0;
    std::size_t longest = 0;
    const Place first{key(word), 0};
    for (auto found = std::lower_bound(places_.begin(), places_.end(), first);
         found != places_.end() && found->first == first.first; ++found)
      longest = std::max(longest, equal_letters(word, found->second));
    return longest < Mum::kMinLength ? 0 : longest;
  }

  static std::string_view letters(const Array<unsigned char>& array) {
    return {reinterpret_cast<const char*>(array.values), array.num_elements};
  }

private:
  using Place = std::pair<std::uint64_t, std::size_t>;  ///< of a word: its key, its first letter

  /// Equal for equal words; that of different ones may be, too.
  static std::uint64_t key(std::string_view text) {
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < Mum::kMinLength; ++i)
      hash = hash * 1099511628211U + static_cast<unsigned char>(text[i]);
    return hash;
  }

  std::size_t equal_letters(std::string_view word, std::size_t begin) const {
    std::size_t length = 0;
    while (length < word.size() && begin + length < reference_.size() &&
           reference_[begin + length] == word[length])
      ++length;
    return length;
  }

  std::string reference_;
  std::vector<Place> places_;  // sorted: a hash table of vectors takes ten times as long
};

/// Descends the tree along the word: the node whose edge the word ends on.
unsigned node_of(const MumArguments& in, std::string_view word) {
  unsigned node = kMumRoot;
  for (std::size_t depth = 0; depth < word.size();) {
    const auto letter = static_cast<unsigned char>(word[depth]);
    node = in.children.values[mum_texel(node)].by_letter[letter];
    const MumNode& edge = in.nodes.values[mum_texel(node)];
    depth += edge.end - edge.begin;
  }
  return node;
}

void expect_matches_of_index(const MumArguments& in, std::uint32_t num_letters) {
  const WordIndex index(in, num_letters);
  std::size_t num_found = 0;
  for (unsigned read = 0; read < in.num_reads; ++read) {
    const std::string_view text = WordIndex::letters(in.reads).substr(in.read_begins.values[read],
                                                                      in.read_lengths.values[read]);
    for (unsigned start = 0; start < in.num_starts; ++start) {
      const MumMatch& match = in.matches.values[read * in.num_starts + start];
      const std::string_view word = text.substr(start);
      ASSERT_EQ(match.length, index.match(word)) << "read " << read << ", start " << start;
      if (match.length == 0) continue;
      ASSERT_EQ(match.node, node_of(in, word.substr(0, match.length)));
      ++num_found;
    }
  }
  EXPECT_GT(num_found, 0U);
}

TEST(Mum, FindsInAShortReferenceWhatAnIndexOfWordsFinds) {
  expect_matches_of_index(short_reference().program.arguments(), 140'000);
}

TEST(Mum, FindsInALongReferenceWhatAnIndexOfWordsFinds) {
  expect_matches_of_index(long_reference().program.arguments(), 1'400'000);
}

TEST(Mum, FindsAsManyReadsAsTheReferenceIsAShareOfTheGenome) {
  const auto share_found = [](const MumArguments& in) {
    double found = 0;
    for (unsigned read = 0; read < in.num_reads; ++read)
      if (in.matches.values[read * in.num_starts].length == Mum::kReadLetters) ++found;
    return found / in.num_reads;
  };
  EXPECT_NEAR(share_found(short_reference().program.arguments()), 140'000.0 / 5'227'293, 0.005);
  EXPECT_NEAR(share_found(long_reference().program.arguments()), 1'400'000.0 / 5'227'293, 0.01);
}

TEST(Mum, LaysConsecutiveNodesInRowsOfItsTextures) {
  EXPECT_EQ(mum_texel(1) - mum_texel(0), 4096U);  // 64 KiB of 16-byte texels
  EXPECT_EQ(mum_texel(31) - mum_texel(0), 31U * 4096);
  EXPECT_EQ(mum_texel(32), 1U);
  EXPECT_EQ(mum_texel(kMumBlock), kMumBlock);
  EXPECT_EQ(mum_reference_texel(3), 3U * 65536);
  EXPECT_EQ(mum_reference_texel(4), 1U);
  EXPECT_EQ(mum_reference_texel(4 * 65536), 4U * 65536);
}

TEST(Mum, IsAboutAsLargeAsTheOriginal) {
  // ispass2009, real genome: 233,369 and 2,316,237 nodes.
  EXPECT_NEAR(short_reference().program.num_nodes(), 233'369, 7'000);
  EXPECT_NEAR(long_reference().program.num_nodes(), 2'316'237, 70'000);
  const testing::Recording& one = short_reference().counted;
  const testing::Recording& ten = long_reference().counted;
  // ispass2009: 13,549 KB, 8,143 KB, 8 pages; 79,916 KB, 49,787 KB, 41 pages.
  EXPECT_NEAR(one.upload_kib, 13'549, 1000);
  EXPECT_NEAR(one.touched_kib, 8'143, 1000);
  EXPECT_NEAR(static_cast<double>(one.pages), 8, 1);
  EXPECT_NEAR(ten.upload_kib, 79'916, 1000);
  EXPECT_NEAR(ten.touched_kib, 49'787, 5000);
  EXPECT_NEAR(static_cast<double>(ten.pages), 41, 2);
}

TEST(Mum, RunsAsManyInstructionsAsPublished) {
  EXPECT_NEAR(short_reference().counted.millions(), 77, 1);  // ISPASS'09, Table 1
}

}  // namespace
}  // namespace isthmus::workloads
