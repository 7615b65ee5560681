// Faulting in fresh pages, and memory aligned for huge pages.
#include "host/memory/first_touch.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <isthmus/errors.hpp>

#include "host/memory/huge_mapping.hpp"
#include "host/memory/pages.hpp"

namespace isthmus::host {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kMiB = std::size_t{1} << 20U;

std::size_t num_resident(const std::byte* memory, std::size_t size_bytes) {
  std::vector<unsigned char> residency(size_bytes / kPageBytes);
  EXPECT_EQ(mincore(const_cast<std::byte*>(memory), size_bytes, residency.data()), 0);
  return static_cast<std::size_t>(
      std::count_if(residency.begin(), residency.end(), [](auto each) { return (each & 1) != 0; }));
}

/// In a process of its own: the setting is asked for once.
TEST(FirstTouchDeathTest, GivesNoHugePagesToAProcessForWhichTheyAreTurnedOff) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
        const HugeMapping memory(4 * kMiB);
        _exit(advise_huge_pages(memory.data(), memory.size_bytes()) ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(FirstTouch, MakesEveryPageOfARangePresent) {
  const HugeMapping mapping(8 * kMiB);
  ASSERT_EQ(num_resident(mapping.data(), mapping.size_bytes()), 0u);
  ASSERT_TRUE(touch_pages(mapping.data() + 5 * kMiB + 100, 2 * kMiB));
  EXPECT_GE(num_resident(mapping.data(), mapping.size_bytes()), 2 * kMiB / kPageBytes + 1);
}

TEST(FirstTouch, ChangesNoByte) {
  const HugeMapping mapping(4 * kMiB);
  std::fill_n(mapping.data(), mapping.size_bytes(), std::byte{0xA5});
  ASSERT_TRUE(touch_pages(mapping.data() + 1, mapping.size_bytes() - 2));
  EXPECT_EQ(std::count(mapping.data(), mapping.data() + mapping.size_bytes(), std::byte{0xA5}),
            static_cast<std::ptrdiff_t>(mapping.size_bytes()));
}

TEST(FirstTouch, SaysThatReadOnlyPagesCannotBeWritten) {
  const HugeMapping mapping(2 * kMiB);
  ASSERT_EQ(mprotect(mapping.data(), kPageBytes, PROT_READ), 0);
  EXPECT_FALSE(touch_pages(mapping.data(), kPageBytes));
  EXPECT_TRUE(touch_pages(mapping.data() + kPageBytes, kPageBytes));
  EXPECT_TRUE(touch_pages(mapping.data(), 0));
}

TEST(FirstTouch, KnowsFreshMemoryFromUsed) {
  const HugeMapping mapping(16 * kMiB);
  EXPECT_TRUE(mostly_untouched(mapping.data(), mapping.size_bytes()));
  ASSERT_TRUE(touch_pages(mapping.data(), 2 * kMiB));
  EXPECT_TRUE(mostly_untouched(mapping.data(), mapping.size_bytes()));
  ASSERT_TRUE(touch_pages(mapping.data(), 14 * kMiB));
  EXPECT_FALSE(mostly_untouched(mapping.data(), mapping.size_bytes()));
  EXPECT_FALSE(mostly_untouched(mapping.data(), 0));
}

TEST(FirstTouch, FindsOnePageThatIsAbsentAmongMany) {
  const std::size_t num_pages = 1500;  // asked about in three system calls
  void* const memory = mmap(nullptr, num_pages * kPageBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(madvise(memory, num_pages * kPageBytes, MADV_NOHUGEPAGE), 0);
  auto* const bytes = static_cast<std::byte*>(memory);
  const Pages all(bytes, num_pages * kPageBytes);
  for (std::size_t absent : {std::size_t{0}, std::size_t{511}, std::size_t{512}, num_pages - 1}) {
    ASSERT_TRUE(touch_pages(bytes, all.size_bytes()));
    EXPECT_TRUE(all_resident(all));
    ASSERT_EQ(madvise(bytes + absent * kPageBytes, kPageBytes, MADV_DONTNEED), 0);
    EXPECT_FALSE(all_resident(all)) << absent;
  }
  munmap(memory, all.size_bytes());
}

TEST(ParallelTouch, MakesEveryPagePresentWithAnyNumberOfThreads) {
  for (const int num_threads : {1, 2, 5, 16}) {
    const HugeMapping mapping(9 * kMiB + kPageBytes);
    ParallelTouch touch(mapping.data(), mapping.size_bytes(), {num_threads, {}});
    EXPECT_TRUE(touch.wait());
    EXPECT_EQ(num_resident(mapping.data(), mapping.size_bytes()),
              mapping.size_bytes() / kPageBytes);
    EXPECT_GT(touch.seconds(), 0);
    EXPECT_GT(touch.num_faults(), 0u);
  }
}

TEST(ParallelTouch, EndsWhenItIsStoppedAndSaysSo) {
  const HugeMapping mapping(256 * kMiB);
  ParallelTouch touch(mapping.data(), mapping.size_bytes(), {1, {}});
  touch.stop();
  EXPECT_FALSE(touch.wait());
  EXPECT_LT(num_resident(mapping.data(), mapping.size_bytes()), mapping.size_bytes() / kPageBytes);
}

TEST(ParallelTouch, SaysThatItFailedOnPagesThatCannotBeWritten) {
  const HugeMapping mapping(8 * kMiB);
  ASSERT_EQ(mprotect(mapping.data() + 4 * kMiB, kPageBytes, PROT_READ), 0);
  ParallelTouch touch(mapping.data(), mapping.size_bytes(), {2, {}});
  touch.wait_until_begun(mapping.size_bytes());
  EXPECT_FALSE(touch.wait());
}

TEST(HugeMapping, BeginsAtAHugePageAndIsRoundedUpToPages) {
  const HugeMapping mapping(3 * kMiB + 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapping.data()) % kHugePageBytes, 0u);
  EXPECT_EQ(mapping.size_bytes(), 3 * kMiB + kPageBytes);
}

TEST(HugeMapping, RefusesZeroBytesAndMoreThanTheAddressSpace) {
  EXPECT_THROW(HugeMapping(0), UsageError);
  EXPECT_THROW(HugeMapping(std::size_t{1} << 62U), std::system_error);
  EXPECT_THROW(HugeMapping(~std::size_t{0}), std::system_error);
}

TEST(HugeMapping, GivesItsPagesBackAndCanBeUsedAgain) {
  for (const int num_threads : {1, 3, 64}) {
    HugeMapping mapping(5 * kMiB);
    ASSERT_TRUE(touch_pages(mapping.data(), mapping.size_bytes()));
    mapping.drop_pages(num_threads);
    EXPECT_EQ(num_resident(mapping.data(), mapping.size_bytes()), 0u);
    mapping.data()[mapping.size_bytes() - 1] = std::byte{1};
  }
}

TEST(HugeMapping, MovesWithItsMemory) {
  HugeMapping first(kMiB);
  std::byte* const data = first.data();
  HugeMapping second(std::move(first));
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(first.data(), nullptr);
}

TEST(HugeMapping, OnANodeThatIsNoneLiesAnywhere) { EXPECT_NO_THROW(HugeMapping(kMiB, 5000)); }

}  // namespace
}  // namespace isthmus::host
