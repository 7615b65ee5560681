// How copies are cut, and the copies within host memory that a ring makes.
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "transfer/chunk_plan.hpp"
#include "transfer/host_copy.hpp"
#include "transfer/memory_backing.hpp"
#include "window/guarded_pages.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;
constexpr ChunkLimits kLimits{128 * kKiB, 256 * kKiB, 4 * kMiB, 4096};

std::vector<Piece> pieces_of(const ChunkPlan& plan) {
  std::vector<Piece> pieces;
  for (std::size_t begin = 0; begin < plan.size_bytes();) {
    pieces.push_back(plan.piece_at(begin));
    begin += pieces.back().size_bytes;
  }
  return pieces;
}

TEST(ChunkPlanTest, PiecesCoverEveryCopyOnceAndKeepTheirLimits) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t size = 1 + random() % (std::size_t{1} << (random() % 31));
    const std::size_t grain = std::size_t{1} << (random() % 22);
    const std::size_t first = grain + random() % kMiB;
    const std::size_t least = first + random() % kMiB;
    const ChunkLimits limits{first, least, least + random() % (4 * kMiB), grain};
    const ChunkPlan plan(size, 1 + static_cast<int>(random() % 16), limits, random() >> 16U);
    std::size_t covered = 0;
    while (covered < size) {
      const Piece piece = plan.piece_at(covered);
      ASSERT_EQ(piece.begin, covered);
      ASSERT_GT(piece.size_bytes, 0U);
      ASSERT_LE(piece.size_bytes, limits.most_bytes);
      covered += piece.size_bytes;
    }
    ASSERT_EQ(covered, size);
  }
}

TEST(ChunkPlanTest, InnerEndsAreMultiplesOfTheGrainAsAddresses) {
  constexpr std::size_t kAddress = 0x7f0000000123;
  const auto pieces = pieces_of(ChunkPlan(64 * kMiB, 8, kLimits, kAddress));
  for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
    ASSERT_EQ((kAddress + pieces[i].begin + pieces[i].size_bytes) % kLimits.grain_bytes, 0U);
  }
}

TEST(ChunkPlanTest, PiecesGrowFromTheLeastToTheMostAndShrinkAgain) {
  constexpr int kNumThreads = 8;
  const ChunkPlan plan(1024 * kMiB, kNumThreads, kLimits);
  const auto pieces = pieces_of(plan);
  EXPECT_EQ(pieces.front().size_bytes, 128 * kKiB);
  for (std::size_t i = 1; i < pieces.size() / 3; ++i) {
    EXPECT_GE(pieces[i].size_bytes, pieces[i - 1].size_bytes);
  }
  // A few bytes more than the least may be left over for the last piece.
  EXPECT_LE(pieces.back().size_bytes, (128 + 64) * kKiB);
  for (std::size_t i = 2; i < pieces.size() / 3; ++i) {
    EXPECT_GE(pieces[pieces.size() - i - 1].size_bytes, pieces[pieces.size() - i].size_bytes);
  }
  const auto middle = pieces[pieces.size() / 2];
  EXPECT_EQ(middle.size_bytes, 4 * kMiB);
  EXPECT_FALSE(plan.near_end(middle.begin));
  EXPECT_TRUE(plan.near_end(pieces.back().begin));
}

TEST(ChunkPlanTest, EachThreadGetsAShareOfASmallCopy) {
  EXPECT_GE(pieces_of(ChunkPlan(4 * kMiB, 8, kLimits)).size(), 16U);
  EXPECT_EQ(pieces_of(ChunkPlan(128 * kKiB, 8, kLimits)).size(), 1U);
}

/// What threads copy at once crosses one after the other: the next is there in time if it is
/// longer by no more than a thread copies meanwhile.
TEST(ChunkPlanTest, PiecesOfTheFirstRoundGrowNoFasterThanTheLinkAllows) {
  const auto pieces = pieces_of(ChunkPlan(64 * kMiB, 8, kLimits));
  for (std::size_t i = 1; i < 8; ++i) {
    const std::size_t crosses_meanwhile = pieces[i - 1].size_bytes;
    EXPECT_LE(pieces[i].size_bytes, pieces[i - 1].size_bytes + crosses_meanwhile / 5 + 4 * kKiB);
  }
}

TEST(ChunkPlanTest, NoCrumbIsLeftForTheEnd) {
  for (std::size_t size = 4 * kMiB; size < 6 * kMiB; size += 60001) {
    EXPECT_GE(pieces_of(ChunkPlan(size, 8, kLimits)).back().size_bytes, 64 * kKiB);
  }
}

TEST(HostCopyTest, CopiesEverySizeAndAlignmentAndNothingElse) {
  using window::GuardedPages;
  using window::kUntouched;
  const GuardedPages source(128 * kKiB);
  const GuardedPages target(128 * kKiB);
  source.fill_randomly(5);
  target.fill(kUntouched);
  for (const std::size_t size : {1UL, 63UL, 64UL, 65UL, 4095UL, 65537UL, 100000UL}) {
    for (const std::size_t offset : {0UL, 1UL, 63UL, 64UL}) {
      std::byte* const to = target.data() + 128 + offset;
      const std::byte* const from = source.data() + 3 + offset / 2;
      copy_streaming(to, from, size);
      ASSERT_EQ(std::memcmp(to, from, size), 0) << size << " bytes at " << offset;
      ASSERT_TRUE(target.untouched_around(128 + offset, size)) << size << " bytes at " << offset;
      std::memset(to, std::to_integer<int>(kUntouched), size);
    }
  }
}

const std::byte* address(std::uintptr_t value) { return reinterpret_cast<const std::byte*>(value); }

TEST(MemoryBackingTest, TheListOfMappingsTellsFilesFromMemory) {
  const char* const maps =
      "10000000-10004000 rw-p 00000000 00:00 0                          [heap]\n"
      "10004000-10008000 rw-s 00001000 08:01 1234                       /data/weights bin\n"
      "10008000-1000c000 rw-p 00000000 00:00 0 ";
  EXPECT_EQ(backing_in_maps(maps, address(0x10000010), 0x3ff0), Backing::anonymous);
  EXPECT_EQ(backing_in_maps(maps, address(0x10000010), 0x3ff1), Backing::file);
  EXPECT_EQ(backing_in_maps(maps, address(0x10007fff), 1), Backing::file);
  EXPECT_EQ(backing_in_maps(maps, address(0x10008000), 0x4000), Backing::anonymous);
  EXPECT_EQ(backing_in_maps(maps, address(0x10008000), 0x4001), Backing::unknown);
  EXPECT_EQ(backing_in_maps("", address(0x10008000), 1), Backing::unknown);
}

TEST(MemoryBackingTest, MemoryIsAnonymousAndUntouchedPagesAreNoticed) {
  const window::GuardedPages pages(256 * kKiB);
  const MemoryBacking backing;
  EXPECT_NE(backing.of(pages.data(), pages.size_bytes()), Backing::file);
  EXPECT_TRUE(partly_untouched(pages.data(), pages.size_bytes()));
  pages.fill(std::byte{1});
  EXPECT_FALSE(partly_untouched(pages.data(), pages.size_bytes()));
  EXPECT_TRUE(readable(pages.data() + 5));
}

}  // namespace
}  // namespace isthmus::transfer
