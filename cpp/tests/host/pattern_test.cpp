#include "host/memory/pattern.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace isthmus::host {
namespace {

// Above the size from which fill and check use several threads; see kWordsPerThread.
constexpr std::size_t kManyThreadsBytes = (std::size_t{40} << 20U) + 5;

std::byte expected_byte(std::uint64_t seed, std::size_t position) {
  return static_cast<std::byte>(pattern_word(seed, position / 8) >> (position % 8 * 8));
}

std::vector<std::byte> filled(std::size_t size_bytes, std::uint64_t seed) {
  std::vector<std::byte> bytes(size_bytes, std::byte{0xAA});
  fill_pattern(bytes.data(), size_bytes, seed);
  return bytes;
}

// Source: reference outputs of splitmix64.c, https://prng.di.unimi.it/splitmix64.c, seed 1234567.
TEST(Pattern, WordsAreTheOutputsOfSplitMix64) {
  EXPECT_EQ(pattern_word(1234567, 0), 6457827717110365317ULL);
  EXPECT_EQ(pattern_word(1234567, 1), 3203168211198807973ULL);
  EXPECT_EQ(pattern_word(1234567, 2), 9817491932198370423ULL);
}

TEST(Pattern, AFillOfAnySizeIsLittleEndianWordsWithTheLastCutShort) {
  for (const std::size_t size : {0U, 1U, 2U, 4U, 7U, 8U, 9U, 15U, 16U, 17U, 4095U, 4099U}) {
    const auto bytes = filled(size, 42);
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_EQ(bytes[i], expected_byte(42, i)) << "byte " << i << " of " << size;
    }
  }
}

TEST(Pattern, OneThreadFillsWithTheSameBytesAsMany) {
  std::vector<std::byte> bytes(kManyThreadsBytes);
  fill_pattern(bytes.data(), bytes.size(), 42, FilledBy::one_thread);
  EXPECT_TRUE(bytes == filled(kManyThreadsBytes, 42));
}

TEST(Pattern, AFillTouchesNothingBeyondItsRange) {
  std::vector<std::byte> bytes(64, std::byte{0xAA});
  fill_pattern(bytes.data() + 3, 21, 7);
  EXPECT_EQ(bytes[2], std::byte{0xAA});
  EXPECT_EQ(bytes[24], std::byte{0xAA});
}

TEST(Pattern, AnUnalignedRangeIsFilledAndCheckedLikeAnAlignedOne) {
  std::vector<std::byte> bytes(128);
  for (std::size_t offset = 0; offset < 8; ++offset) {
    fill_pattern(bytes.data() + offset, 101, 9);
    EXPECT_EQ(bytes[offset + 100], expected_byte(9, 100));
    EXPECT_EQ(count_pattern_mismatches(bytes.data() + offset, 101, 9), 0U);
  }
}

TEST(Pattern, AFilledRangeHasNoMismatches) {
  for (const std::size_t size : {0U, 1U, 8U, 4097U}) {
    EXPECT_EQ(count_pattern_mismatches(filled(size, 5).data(), size, 5), 0U) << size;
  }
}

TEST(Pattern, AnotherSeedDiffersInEveryWord) {
  EXPECT_EQ(count_pattern_mismatches(filled(800, 5).data(), 800, 6), 100U);
}

TEST(Pattern, AWordWithSeveralWrongBytesCountsOnce) {
  auto bytes = filled(64, 1);
  bytes[8] ^= std::byte{1};
  bytes[15] ^= std::byte{0x80};
  EXPECT_EQ(count_pattern_mismatches(bytes.data(), bytes.size(), 1), 1U);
}

TEST(Pattern, EachWrongTrailingByteCounts) {
  auto bytes = filled(13, 1);
  bytes[8] ^= std::byte{1};
  bytes[12] ^= std::byte{1};
  EXPECT_EQ(count_pattern_mismatches(bytes.data(), bytes.size(), 1), 2U);
}

TEST(Pattern, ALargeRangeIsFilledAndCheckedWholly) {
  auto bytes = filled(kManyThreadsBytes, 3);
  EXPECT_EQ(count_pattern_mismatches(bytes.data(), bytes.size(), 3), 0U);
  for (std::size_t i = 0; i < bytes.size(); i += 65'537) {
    ASSERT_EQ(bytes[i], expected_byte(3, i)) << i;
  }
  for (const std::size_t position : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
    bytes[position] ^= std::byte{1};
  }
  EXPECT_EQ(count_pattern_mismatches(bytes.data(), bytes.size(), 3), 3U);
}

}  // namespace
}  // namespace isthmus::host
