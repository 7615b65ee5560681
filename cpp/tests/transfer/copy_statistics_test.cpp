// Copies are counted once each, however many there are, and by however many threads.
#include "transfer/request/copy_statistics.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace isthmus::transfer {
namespace {

PathUse use_of(const CopyStatistics& statistics, CopyPath path) {
  for (const PathUse& use : statistics.uses())
    if (use.path == path) return use;
  return {};
}

TEST(CopyStatistics, MillionsOfSmallCopiesAreAllCounted) {
  constexpr int kThreads = 2;
  constexpr std::uint64_t kCopies = 2'500'000;
  constexpr std::uint64_t kBytes = 65'536;
  CopyStatistics statistics;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (std::uint64_t copy = 0; copy < kCopies; ++copy)
        statistics.count(CopyPath::window, kBytes);
    });
  for (std::thread& thread : threads) thread.join();
  const PathUse use = use_of(statistics, CopyPath::window);
  EXPECT_EQ(use.num_copies, kThreads * kCopies);
  EXPECT_EQ(use.num_bytes, kThreads * kCopies * kBytes);
}

TEST(CopyStatistics, SmallAndLongCopiesOfAPathAreCountedTogether) {
  CopyStatistics statistics;
  statistics.count(CopyPath::staged, 100);
  statistics.count(CopyPath::staged, std::size_t{3} << 30U);
  statistics.count(CopyPath::staged, 500, 5);
  const PathUse use = use_of(statistics, CopyPath::staged);
  EXPECT_EQ(use.num_copies, 7U);
  EXPECT_EQ(use.num_bytes, (std::uint64_t{3} << 30U) + 600);
}

TEST(CopyStatistics, ACopyThatFailedIsNotCountedAnyMore) {
  CopyStatistics statistics;
  statistics.count(CopyPath::driver, 100);
  statistics.count(CopyPath::driver, 40);
  statistics.count_back(CopyPath::driver, 100, 1);
  const PathUse use = use_of(statistics, CopyPath::driver);
  EXPECT_EQ(use.num_copies, 1U);
  EXPECT_EQ(use.num_bytes, 40U);
}

}  // namespace
}  // namespace isthmus::transfer
