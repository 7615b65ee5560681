#include "pages/prefetch_tree.hpp"

#include <gtest/gtest.h>

#include <array>

namespace isthmus::pages {
namespace {

/// The driver's tree: 512 pages of 4 KiB; a fault takes 16.
class Tree {
public:
  void set(std::uint32_t first, std::uint32_t end) { bitmap_.set(first, end); }
  UnitRun around(std::uint32_t leaf, std::uint32_t threshold_percent = 51) const {
    return largest_subtree(bitmap_, 512, {leaf, leaf + 16}, threshold_percent);
  }
  UnitRun sparse_around(std::uint32_t leaf) const {
    return largest_sparse_subtree(bitmap_, 512, {leaf, leaf + 16}, 50);
  }

private:
  std::array<std::uint64_t, 8> words_{};
  UnitBitmap bitmap_{words_.data()};
};

void expect_run(UnitRun run, std::uint32_t first, std::uint32_t end) {
  EXPECT_EQ(run.first, first);
  EXPECT_EQ(run.end, end);
}

TEST(PrefetchTree, TakesTheLeafAloneOfAnEmptyPage) { expect_run(Tree().around(32), 32, 48); }

TEST(PrefetchTree, DoesNotCountHalfAsEnough) {
  Tree tree;
  tree.set(64, 96);
  expect_run(tree.around(32), 32, 48);
}

TEST(PrefetchTree, TakesASubtreeOfWhichMoreThanTheThresholdIsSet) {
  Tree tree;
  tree.set(48, 49);
  expect_run(tree.around(32), 32, 64);
}

TEST(PrefetchTree, TakesTheLargestSubtreeEvenIfASmallerOneIsSparse) {
  Tree tree;
  // Of [0, 32) half will be set, of [0, 64) 48.
  tree.set(32, 64);
  expect_run(tree.around(0), 0, 64);
}

TEST(PrefetchTree, TakesThePageOnceMoreThanHalfOfItIsSet) {
  Tree tree;
  tree.set(256, 512);
  // 256 + 16 of 512: 53 %.
  expect_run(tree.around(0), 0, 512);
  expect_run(tree.around(0, 60), 0, 16);
}

TEST(PrefetchTree, NeverGrowsAtAThresholdOf100) {
  Tree tree;
  tree.set(16, 512);
  expect_run(tree.around(0, 100), 0, 16);
}

TEST(PrefetchTree, LetsASubtreeGoOfWhichLessThanHalfStays) {
  Tree tree;
  tree.set(0, 512);
  expect_run(tree.sparse_around(0), 0, 16);
  Tree sparse;
  sparse.set(16, 31);
  // 15 of 32 would remain in [0, 32), so none do; then none of 64, and so on to the root.
  expect_run(sparse.sparse_around(0), 0, 512);
}

TEST(PrefetchTree, DoesNotCountPagesThatLeftWithASmallerSubtree) {
  Tree tree;
  tree.set(16, 31);   // evicted: 15 of 32 are set
  tree.set(32, 63);   // so 31 of 64 remain, not 46: evicted
  tree.set(64, 192);  // half of 128 and of 256 remains, so these stay
  tree.set(256, 512);
  expect_run(tree.sparse_around(0), 0, 64);
}

}  // namespace
}  // namespace isthmus::pages
