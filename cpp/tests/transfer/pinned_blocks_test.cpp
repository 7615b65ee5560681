// Blocks cut from regions and merged again, compared with a simple, slow model.
#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "transfer/pinned/block_arena.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

std::byte* at(std::size_t address) { return reinterpret_cast<std::byte*>(address); }

bool within_an_eighth(std::size_t size_bytes) {
  const std::size_t rounded_bytes = class_bytes(size_bytes);
  const std::size_t max_bytes =
      size_bytes <= kLinearBytes ? (size_bytes + kGranuleBytes - 1) / kGranuleBytes * kGranuleBytes
                                 : size_bytes + size_bytes / 8;
  return rounded_bytes >= size_bytes && rounded_bytes <= max_bytes &&
         rounded_bytes % kGranuleBytes == 0 && class_bytes(rounded_bytes) == rounded_bytes;
}

TEST(SizeClasses, RoundUpByAnEighthAtMost) {
  for (std::size_t size_bytes = 1; size_bytes <= 4 * kMiB; ++size_bytes) {
    ASSERT_TRUE(within_an_eighth(size_bytes)) << size_bytes;
  }
  for (unsigned power = 9; power < 62; ++power) {
    for (const std::size_t off_bytes : {std::size_t{0}, std::size_t{1}, std::size_t{63}}) {
      const std::size_t size_bytes = (std::size_t{1} << power) + off_bytes;
      EXPECT_TRUE(within_an_eighth(size_bytes)) << size_bytes;
      EXPECT_TRUE(within_an_eighth(size_bytes - off_bytes - 1)) << size_bytes;
    }
  }
}

TEST(SizeClasses, AreNumberedInTheirOrderWithoutGaps) {
  std::size_t size_bytes = kGranuleBytes;
  std::size_t index = class_index(size_bytes);
  while (size_bytes < std::size_t{1} << 50U) {
    const std::size_t next_bytes = class_bytes(size_bytes + 1);
    EXPECT_EQ(class_index(next_bytes - kGranuleBytes), index) << size_bytes;
    EXPECT_EQ(class_index(next_bytes), index + 1) << next_bytes;
    size_bytes = next_bytes;
    index = class_index(size_bytes);
  }
  EXPECT_LT(index, kNumClasses);
}

TEST(Arena, CutsBlocksOfExactlyTheClassSize) {
  BlockArena arena;
  arena.add_region(at(kMiB), kMiB, false);
  const Block* first = arena.take(100, kGranuleBytes);
  const Block* second = arena.take(1000, kGranuleBytes);
  EXPECT_EQ(first->data, at(kMiB));
  EXPECT_EQ(first->size_bytes, 128u);
  EXPECT_EQ(second->data, at(kMiB + 128));
  EXPECT_EQ(second->size_bytes, 1024u);
}

TEST(Arena, JoinsNeighboursWhateverTheOrderTheyAreFreedIn) {
  for (const std::vector<std::size_t>& order :
       {std::vector<std::size_t>{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}}) {
    BlockArena arena;
    BlockRegion* region = arena.add_region(at(kMiB), 3 * kMiB, false);
    std::vector<Block*> blocks;
    for (int i = 0; i < 3; ++i) blocks.push_back(arena.take(kMiB, kGranuleBytes));
    EXPECT_EQ(arena.take(1, kGranuleBytes), nullptr) << "the region is full";
    for (const std::size_t index : order) arena.give(blocks[index]);
    EXPECT_TRUE(region->unused());
    EXPECT_EQ(region->first->size_bytes, 3 * kMiB);
  }
}

TEST(Arena, DoesNotJoinAcrossRegionsThatTouch) {
  BlockArena arena;
  arena.add_region(at(kMiB), kMiB, false);
  arena.add_region(at(2 * kMiB), kMiB, false);
  EXPECT_EQ(arena.take(kMiB + 1, kGranuleBytes), nullptr);
}

TEST(Arena, NeverCutsAWholeRegion) {
  BlockArena arena;
  arena.add_region(at(kMiB), kMiB, true);
  EXPECT_EQ(arena.take(64, kGranuleBytes), nullptr);
  EXPECT_EQ(arena.take_whole(kMiB / 2, kMiB - 1), nullptr);
  Block* block = arena.take_whole(kMiB - 5, kMiB);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(arena.take_whole(1, kMiB), nullptr) << "it is in use";
  arena.give(block);
  EXPECT_EQ(arena.take_whole(kMiB, kMiB), block);
}

TEST(Arena, GivesTheSmallestWholeRegionThatFits) {
  BlockArena arena;
  for (const std::size_t mebibytes : {9U, 4U, 6U}) {
    arena.add_region(at(mebibytes * 100 * kMiB), mebibytes * kMiB, true);
  }
  EXPECT_EQ(arena.take_whole(5 * kMiB, 20 * kMiB)->size_bytes, 6 * kMiB);
  EXPECT_EQ(arena.take_whole(5 * kMiB, 20 * kMiB)->size_bytes, 9 * kMiB);
}

/// Which bytes of a region are in use, block by block.
class Model {
public:
  explicit Model(std::size_t size_bytes) : size_bytes_(size_bytes) {}

  bool overlaps(std::size_t offset, std::size_t size_bytes) const {
    auto next = taken_.lower_bound(offset);
    if (next != taken_.end() && next->first < offset + size_bytes) return true;
    return next != taken_.begin() && std::prev(next)->first + std::prev(next)->second > offset;
  }
  bool has_gap(std::size_t size_bytes) const {
    std::size_t end = 0;
    for (const auto& [offset, taken_bytes] : taken_) {
      if (offset - end >= size_bytes) return true;
      end = offset + taken_bytes;
    }
    return size_bytes_ - end >= size_bytes;
  }
  void take(std::size_t offset, std::size_t size_bytes) { taken_.emplace(offset, size_bytes); }
  void give(std::size_t offset) { taken_.erase(offset); }

private:
  std::size_t size_bytes_;
  std::map<std::size_t, std::size_t> taken_;
};

class RandomOperations : public testing::TestWithParam<unsigned> {
protected:
  static constexpr std::size_t kBase = 64 * kMiB;
  static constexpr std::size_t kRegionBytes = 2 * kMiB;

  std::size_t random(std::size_t most) { return generator_() % (most + 1); }

  void take_one() {
    // Sizes of every magnitude; most alignments are minimal.
    const std::size_t size_bytes = 1 + random((std::size_t{64} << random(13)));
    const std::size_t alignment = random(3) == 0 ? std::size_t{64} << random(8) : kGranuleBytes;
    Block* block = arena_.take(size_bytes, alignment);
    if (block == nullptr) {
      EXPECT_FALSE(model_.has_gap(class_bytes(class_bytes(size_bytes) + alignment)))
          << "there was room for " << size_bytes;
      return;
    }
    const std::size_t offset = reinterpret_cast<std::size_t>(block->data) - kBase;
    EXPECT_EQ(reinterpret_cast<std::size_t>(block->data) % alignment, 0u);
    EXPECT_EQ(block->size_bytes, class_bytes(size_bytes));
    EXPECT_LE(offset + block->size_bytes, kRegionBytes);
    EXPECT_FALSE(model_.overlaps(offset, block->size_bytes));
    model_.take(offset, block->size_bytes);
    blocks_.push_back(block);
  }

  void give_one() {
    if (blocks_.empty()) return;
    std::swap(blocks_[random(blocks_.size() - 1)], blocks_.back());
    model_.give(reinterpret_cast<std::size_t>(blocks_.back()->data) - kBase);
    arena_.give(blocks_.back());
    blocks_.pop_back();
  }

  BlockArena arena_;
  Model model_{kRegionBytes};
  std::vector<Block*> blocks_;
  std::mt19937_64 generator_{GetParam()};
};

TEST_P(RandomOperations, AgreeWithTheModelAndLeaveOneFreeBlock) {
  BlockRegion* region = arena_.add_region(at(kBase), kRegionBytes, false);
  for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
    // Fills up, then drains, repeatedly.
    const bool filling = (i / 500) % 2 == 0;
    if (random(9) < (filling ? 7U : 3U)) {
      take_one();
    } else {
      give_one();
    }
  }
  while (!blocks_.empty()) give_one();
  EXPECT_TRUE(region->unused());
  EXPECT_EQ(region->first->size_bytes, kRegionBytes);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomOperations, testing::Range(1U, 9U));

TEST(Index, AgreesWithAMapAfterManyChanges) {
  BlockIndex index;
  std::map<const void*, Block*> expected;
  std::vector<Block> blocks(4000);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i].data = at(kMiB + i * kGranuleBytes);
  std::mt19937_64 generator(5);
  for (int i = 0; i < 100'000; ++i) {
    Block* block = &blocks[generator() % blocks.size()];
    if (expected.erase(block->data) == 1) {
      index.remove(block);
    } else {
      index.reserve_one();
      index.add(block);
      expected[block->data] = block;
    }
  }
  ASSERT_EQ(index.size(), expected.size());
  for (Block& block : blocks) {
    EXPECT_EQ(index.find(block.data), expected.contains(block.data) ? &block : nullptr);
  }
}

}  // namespace
}  // namespace isthmus::transfer
