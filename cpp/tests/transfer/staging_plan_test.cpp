// How copies are divided, and a ring's copies within host memory.
#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "transfer/pinned/memory_backing.hpp"
#include "transfer/staging/host_copy.hpp"
#include "transfer/staging/piece_plan.hpp"
#include "window/guarded_pages.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;
constexpr PlanLimits kUpload{256 * kKiB, 2 * kMiB, 8 * kMiB, 64 * kKiB, 256 * kKiB, 64};
constexpr PlanLimits kDownload{kMiB, 256 * kKiB, 8 * kMiB, 64 * kKiB, 256 * kKiB, 4096};

std::vector<std::size_t> sizes_of(const PiecePlan& plan) {
  std::vector<std::size_t> sizes;
  for (const PlannedPiece& piece : plan.pieces()) sizes.push_back(piece.bytes.size_bytes);
  return sizes;
}

PlanLimits random_limits(std::mt19937_64& random) {
  PlanLimits limits;
  limits.grain_bytes = std::size_t{1} << (random() % 22);
  limits.first_bytes = limits.grain_bytes + random() % kMiB;
  limits.last_bytes = limits.grain_bytes + random() % kMiB;
  limits.max_bytes = std::max(limits.first_bytes, limits.last_bytes) + random() % (4 * kMiB);
  limits.min_part_bytes = 1 + random() % (64 * kKiB);
  limits.max_part_bytes = limits.min_part_bytes + random() % (256 * kKiB);
  limits.growth = 1.1 + static_cast<double>(random() % 20) / 10;
  return limits;
}

TEST(PiecePlanTest, PiecesCoverEveryCopyOnceAndKeepTheirLimits) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t size = 1 + random() % (std::size_t{1} << (random() % 31));
    const PlanLimits limits = random_limits(random);
    const PiecePlan plan(size, 1 + static_cast<int>(random() % 16), limits, random() >> 16U);
    std::size_t covered = 0;
    for (const PlannedPiece& piece : plan.pieces()) {
      ASSERT_EQ(piece.bytes.begin, covered);
      ASSERT_GT(piece.bytes.size_bytes, 0U);
      ASSERT_LE(piece.bytes.size_bytes, limits.max_bytes);
      covered += piece.bytes.size_bytes;
    }
    ASSERT_EQ(covered, size);
  }
}

TEST(PiecePlanTest, PartsCoverEveryPieceOnceAndEndAtTheGrain) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 500; ++round) {
    const PlanLimits limits = random_limits(random);
    const std::size_t address = random() >> 16U;
    const std::size_t size = 1 + random() % (std::size_t{1} << (random() % 26));
    const PiecePlan plan(size, 1 + static_cast<int>(random() % 16), limits, address);
    std::size_t part = 0;
    std::size_t covered = 0;
    for (const PlannedPiece& piece : plan.pieces()) {
      ASSERT_EQ(piece.first_part, part);
      for (; part < piece.first_part + piece.num_parts; ++part) {
        const Piece bytes = plan.part(piece, part);
        ASSERT_EQ(bytes.begin, covered);
        ASSERT_GT(bytes.size_bytes, 0U);
        covered += bytes.size_bytes;
        ASSERT_TRUE(covered == size || (address + covered) % limits.grain_bytes == 0);
      }
      ASSERT_EQ(covered, piece.bytes.begin + piece.bytes.size_bytes);
    }
    ASSERT_EQ(part, plan.num_parts());
  }
}

TEST(PiecePlanTest, AnUploadsPiecesDoubleAndAreNeverTooShort) {
  const auto sizes = sizes_of(PiecePlan(64 * kMiB, 8, kUpload));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(sizes[i], 256 * kKiB << i);
  EXPECT_EQ(sizes[5], 8 * kMiB);
  EXPECT_EQ(*std::ranges::max_element(sizes), 8 * kMiB);
  EXPECT_GE(sizes.back(), kMiB);
  EXPECT_LE(sizes.size(), 15U);
}

TEST(PiecePlanTest, ADownloadsPiecesHalveTowardsTheEnd) {
  const auto sizes = sizes_of(PiecePlan(64 * kMiB, 8, kDownload));
  EXPECT_EQ(sizes.front(), kMiB);
  EXPECT_LE(sizes.back(), 320 * kKiB) << "the copy of the last piece is hidden behind nothing";
  std::size_t rest = 0;
  for (std::size_t i = sizes.size(); --i > 0; rest += sizes[i]) {
    // What is copied while the next piece is transferred.
    EXPECT_LE(sizes[i - 1], 2 * (rest + sizes[i]) + 4096) << "piece " << i - 1;
  }
}

TEST(PiecePlanTest, PiecesGrowAndShrinkNoFasterThanToldTo) {
  PlanLimits limits = kUpload;
  limits.last_bytes = limits.first_bytes;
  limits.growth = 1.25;
  const auto sizes = sizes_of(PiecePlan(64 * kMiB, 8, limits));
  EXPECT_GT(*std::ranges::max_element(sizes), 6 * kMiB);
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const auto before = static_cast<double>(sizes[i - 1]);
    const auto after = static_cast<double>(sizes[i]);
    EXPECT_LE(after, 1.25 * before + 64) << "piece " << i;
    EXPECT_GE(after, 0.79 * before) << "piece " << i;
  }
}

TEST(PiecePlanTest, ASmallCopyIsOfFewPieces) {
  EXPECT_EQ(sizes_of(PiecePlan(256 * kKiB, 8, kUpload)).size(), 1U);
  EXPECT_EQ(sizes_of(PiecePlan(4 * kMiB, 8, kUpload)).size(), 4U);
  EXPECT_LE(sizes_of(PiecePlan(4 * kMiB, 8, kDownload)).size(), 6U);
}

TEST(PiecePlanTest, APieceHasAPartForEachThreadIfThatIsNotTooLittleOrTooMuch) {
  const PiecePlan plan(64 * kMiB, 8, kUpload);
  EXPECT_EQ(plan.pieces()[0].num_parts, 4U) << "the least part is 64 KiB";
  EXPECT_EQ(plan.pieces()[2].num_parts, 8U);
  EXPECT_EQ(plan.pieces()[5].num_parts, 32U) << "the most is 256 KiB";
}

TEST(PiecePlanTest, TheLastPieceIsNotTooShort) {
  for (std::size_t size = 4 * kMiB; size < 6 * kMiB; size += 60001) {
    EXPECT_GE(sizes_of(PiecePlan(size, 8, kUpload)).back(), 64 * kKiB);
    EXPECT_GE(sizes_of(PiecePlan(size, 8, kDownload)).back(), 64 * kKiB);
  }
}

TEST(HostCopyTest, EveryWayCopiesEverySizeAndAlignmentAndNothingElse) {
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
      for (const SlotStores stores :
           {SlotStores::plain, SlotStores::fetched, SlotStores::streaming, SlotStores::demoted}) {
        copy_by(stores, to, from, size);
        ASSERT_EQ(std::memcmp(to, from, size), 0) << size << " bytes at " << offset;
        ASSERT_TRUE(target.untouched_around(128 + offset, size)) << size << " bytes at " << offset;
        std::memset(to, std::to_integer<int>(kUntouched), size);
      }
    }
  }
}

TEST(SlotFillingTest, TheFirstBytesOfAnUploadMayBeFilledInAnotherWay) {
  const SlotFilling filling{SlotStores::streaming, 100, SlotStores::fetched};
  EXPECT_EQ(filling.at(0), SlotStores::streaming);
  EXPECT_EQ(filling.at(99), SlotStores::streaming);
  EXPECT_EQ(filling.at(100), SlotStores::fetched);
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
