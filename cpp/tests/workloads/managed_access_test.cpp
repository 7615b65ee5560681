// The traces of what `isthmus bench --managed` does.
#include "workloads/recording/managed_access.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <isthmus/errors.hpp>

#include "page_order.cuh"

namespace isthmus::workloads {
namespace {

std::vector<std::uint64_t> lines_of(trace::Source& source) {
  std::vector<std::uint64_t> lines;
  source.rewind();
  while (const auto block = source.next())
    lines.insert(lines.end(), block->lines.begin(), block->lines.end());
  return lines;
}

TEST(ManagedRead, ReadsEveryLineOnce) {
  for (const std::uint64_t size_bytes : {std::uint64_t{4096}, std::uint64_t{5} << 20U}) {
    for (const PageOrder order : {PageOrder::forward, PageOrder::random}) {
      const auto source = make_managed_read(size_bytes, 3, order);
      const trace::Allocation& memory = source->program().allocations.front();
      EXPECT_EQ(memory.size_bytes, size_bytes);
      std::vector<std::uint64_t> lines = lines_of(*source);
      std::ranges::sort(lines);
      ASSERT_EQ(lines.size(), size_bytes / trace::kLineBytes);
      for (std::size_t i = 0; i < lines.size(); ++i)
        ASSERT_EQ(lines[i], memory.address / trace::kLineBytes + i);
    }
  }
}

TEST(ManagedRead, ReadsEverythingAgainInALaunchOfItsOwn) {
  const auto once = make_managed_read(std::uint64_t{5} << 20U, 3, PageOrder::random);
  const auto thrice = make_managed_read(std::uint64_t{5} << 20U, 3, PageOrder::random, 3);
  EXPECT_EQ(thrice->program().launches.size(), 3U);
  std::vector<std::vector<std::uint64_t>> lines(3);
  while (const auto block = thrice->next()) {
    std::vector<std::uint64_t>& launch = lines.at(block->launch);
    launch.insert(launch.end(), block->lines.begin(), block->lines.end());
  }
  for (const std::vector<std::uint64_t>& launch : lines) EXPECT_EQ(launch, lines_of(*once));
}

// The loop of isthmus_pattern_verify_pages, lane by lane.
TEST(ManagedReadAtRandom, ReadsInEachWarpWhatTheKernelsLanesRead) {
  constexpr std::uint64_t kSizeBytes = std::uint64_t{5} << 20U;
  constexpr std::uint64_t kPageWords = 4096 / 8;
  const auto source = make_managed_read(kSizeBytes, 2, PageOrder::random);
  const trace::Launch& launch = source->program().launches.front();
  const std::uint64_t num_lanes = std::uint64_t{launch.num_ctas} * launch.warps_per_cta * 32;
  const IsthmusPageOrder order = isthmus_page_order(kSizeBytes / 4096);
  std::vector<std::uint64_t> expected;
  for (std::uint64_t warp = 0; warp < num_lanes / 32; ++warp) {
    for (std::uint64_t i = warp * 32; i < kSizeBytes / 8; i += num_lanes) {
      for (const std::uint64_t lane : {i, i + 16}) {
        const std::uint64_t word =
            isthmus_page_of_turn(order, lane / kPageWords) * kPageWords + lane % kPageWords;
        expected.push_back((source->program().allocations.front().address + word * 8) /
                           trace::kLineBytes);
      }
    }
  }
  EXPECT_EQ(lines_of(*source), expected);
}

TEST(ManagedRead, IsTheSameAfterItWasRewound) {
  const auto source = make_managed_read(std::uint64_t{64} << 20U, 132, PageOrder::random);
  EXPECT_EQ(source->program().launches.front().num_ctas, 8U * 132);
  EXPECT_EQ(lines_of(*source), lines_of(*source));
}

TEST(PageChase, ReadsOneLineInEachBlockInOrder) {
  const auto source = make_page_chase(5, Chaser::gpu);
  const std::vector<std::uint64_t> lines = lines_of(*source);
  ASSERT_EQ(lines.size(), 5U);
  for (std::size_t i = 1; i < lines.size(); ++i)
    EXPECT_EQ((lines[i] - lines[i - 1]) * trace::kLineBytes, std::uint64_t{2} << 20U);
}

TEST(PageChase, ByTheCpuReadsTheSameWordsAfterwards) {
  const auto source = make_page_chase(3, Chaser::gpu_then_cpu);
  const std::vector<std::uint64_t> lines = lines_of(*source);
  const auto& after = source->program().after;
  ASSERT_EQ(after.size(), lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(after[i].kind, trace::HostStep::Kind::read);
    EXPECT_EQ(after[i].address, lines[i] * trace::kLineBytes);
  }
  EXPECT_TRUE(make_page_chase(3, Chaser::gpu)->program().after.empty());
}

TEST(ManagedWrite, StoresToEachLineOnceAndTheCpuReadsAllOfIt) {
  constexpr std::uint64_t kSize = 3 * 4096;
  const auto source = make_managed_write(kSize, 2);
  std::vector<std::uint64_t> lines = lines_of(*source);
  std::ranges::sort(lines);
  ASSERT_EQ(lines.size(), kSize / trace::kLineBytes);
  for (std::size_t i = 1; i < lines.size(); ++i) EXPECT_EQ(lines[i], lines[i - 1] + 1);
  ASSERT_EQ(source->program().after.size(), 1U);
  EXPECT_EQ(source->program().after.front().address, lines.front() * trace::kLineBytes);
  EXPECT_EQ(source->program().after.front().size_bytes, kSize);
}

TEST(ManagedAccess, OfImpossibleSizesIsRefused) {
  for (const std::uint64_t size_bytes :
       {std::uint64_t{0}, std::uint64_t{100}, ~std::uint64_t{4095}})
    EXPECT_THROW(make_managed_read(size_bytes, 1, PageOrder::random), UsageError) << size_bytes;
  for (const std::uint32_t num_cores : {0U, 257U})
    EXPECT_THROW(make_managed_read(4096, num_cores, PageOrder::forward), UsageError);
  for (const std::uint32_t num_reads : {0U, 17U})
    EXPECT_THROW(make_managed_read(4096, 1, PageOrder::forward, num_reads), UsageError);
  EXPECT_THROW(make_managed_write(100, 1), UsageError);
  EXPECT_THROW(make_managed_write(4096, 0), UsageError);
  for (const std::uint32_t num_pages : {0U, 4097U})
    EXPECT_THROW(make_page_chase(num_pages, Chaser::gpu), UsageError);
}

}  // namespace
}  // namespace isthmus::workloads
