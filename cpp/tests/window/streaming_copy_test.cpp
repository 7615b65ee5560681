#include "window/copies/streaming_copy.hpp"

#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "window/guarded_pages.hpp"

namespace isthmus::window {
namespace {

using Names = std::vector<std::string_view>;

Names names_of(const host::CopyInstructions& instructions) {
  Names names;
  for (const StreamingCopy* copy : streaming_copies(instructions)) names.push_back(copy->name);
  return names;
}

/// One way to copy, from or to guarded pages. Skipped if this CPU doesn't support it.
class EveryWay : public testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    for (const StreamingCopy* copy : streaming_copies(host::copy_instructions())) {
      if (copy->name == GetParam()) way_ = copy;
    }
    if (way_ == nullptr) GTEST_SKIP() << "this CPU has no " << GetParam();
    source_.fill_randomly(1);
    target_.fill(kUntouched);
  }

  using Copy = void (*)(void*, const void*, std::size_t);

  /// Copies between offsets, checks both sides, and leaves the target untouched again.
  void expect_copied(Copy copy, std::size_t to, std::size_t from, std::size_t size_bytes) {
    copy(target_.data() + to, source_.data() + from, size_bytes);
    store_fence();
    if (size_bytes != 0) {
      ASSERT_EQ(std::memcmp(target_.data() + to, source_.data() + from, size_bytes), 0)
          << size_bytes << " bytes from " << from << " to " << to;
    }
    ASSERT_TRUE(target_.untouched_around(to, size_bytes))
        << size_bytes << " bytes from " << from << " to " << to;
    std::memset(target_.data() + to, std::to_integer<int>(kUntouched), size_bytes);
  }

  const StreamingCopy* way_ = nullptr;
  GuardedPages source_;
  GuardedPages target_;
};

constexpr std::size_t kLineBytesHere = 64;
constexpr std::size_t kLongest = 200;
// Where the other side, which no instruction requires to be aligned, begins in its line.
constexpr std::size_t kOtherOffsets[] = {0, 1, 4, 8, 13, 16, 31, 63};

TEST_P(EveryWay, WritesAnyLengthAtAnyOffset) {
  for (std::size_t to = 0; to < kLineBytesHere; ++to) {
    for (const std::size_t from : kOtherOffsets) {
      for (std::size_t size = 0; size <= kLongest; ++size) {
        ASSERT_NO_FATAL_FAILURE(expect_copied(way_->write, to, from, size));
      }
    }
  }
}

TEST_P(EveryWay, ReadsAnyLengthAtAnyOffset) {
  for (std::size_t from = 0; from < kLineBytesHere; ++from) {
    for (const std::size_t to : kOtherOffsets) {
      for (std::size_t size = 0; size <= kLongest; ++size) {
        ASSERT_NO_FATAL_FAILURE(expect_copied(way_->read, to, from, size));
      }
    }
  }
}

// Any access beyond the page's end, by load or by store, faults here.
TEST_P(EveryWay, StaysInThePageUpToItsEnd) {
  const std::size_t end = source_.size_bytes();
  for (std::size_t gap = 0; gap < kLineBytesHere; ++gap) {
    for (std::size_t size = 0; size <= kLongest; ++size) {
      const std::size_t begin = end - gap - size;
      ASSERT_NO_FATAL_FAILURE(expect_copied(way_->write, begin, end - size, size));
      ASSERT_NO_FATAL_FAILURE(expect_copied(way_->read, end - size, begin, size));
    }
  }
}

TEST_P(EveryWay, CopiesLongRangesAnywhere) {
  constexpr std::size_t kManyBytes = std::size_t{1} << 19U;
  constexpr int kNumCopies = 60;
  const GuardedPages source(kManyBytes);
  const GuardedPages target(kManyBytes);
  source.fill_randomly(2);
  std::mt19937_64 random(3);
  for (int i = 0; i < kNumCopies; ++i) {
    // Half of them with sizes where the unrolled loops begin.
    const std::size_t size = random() % (i % 2 == 0 ? kManyBytes : 8192);
    const std::size_t from = random() % (kManyBytes - size + 1);
    const std::size_t to = random() % (kManyBytes - size + 1);
    target.fill(kUntouched);
    (i % 4 < 2 ? way_->write : way_->read)(target.data() + to, source.data() + from, size);
    store_fence();
    ASSERT_EQ(std::memcmp(target.data() + to, source.data() + from, size), 0);
    ASSERT_TRUE(target.untouched_around(to, size));
  }
}

/// Writes zeros and ones alternately while another thread looks for a mix of both.
template <class Word>
bool tears(const StreamingCopy& way) {
  constexpr int kNumWrites = 100'000;
  constexpr auto kOnes = static_cast<Word>(~Word{0});
  alignas(kLineBytesHere) Word flag = 0;
  std::atomic<int> num_looks = 0;
  std::atomic<bool> done = false;
  bool torn = false;
  std::thread reader([&] {
    while (!done) {
      const Word seen = __atomic_load_n(&flag, __ATOMIC_RELAXED);
      torn |= seen != 0 && seen != kOnes;
      ++num_looks;
    }
  });
  for (int i = 0; i < kNumWrites || num_looks == 0; ++i) {
    const Word value = i % 2 == 0 ? kOnes : Word{0};
    way.write(&flag, &value, sizeof value);
  }
  done = true;
  reader.join();
  return torn;
}

TEST_P(EveryWay, WritesAnAlignedWordAtOnce) {
  EXPECT_FALSE(tears<std::uint16_t>(*way_));
  EXPECT_FALSE(tears<std::uint32_t>(*way_));
  EXPECT_FALSE(tears<std::uint64_t>(*way_));
}

INSTANTIATE_TEST_SUITE_P(StreamingCopy, EveryWay,
                         testing::Values("avx512", "movdir64b", "avx2", "sse4_1", "neon",
                                         "portable"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(StreamingCopies, ACpuWithoutVectorsGetsThePortableOne) {
  EXPECT_EQ(names_of({}), Names{"portable"});
}

TEST(StreamingCopies, TheBestOfThisCpuIsTheFirst) {
  const auto copies = streaming_copies(host::copy_instructions());
  EXPECT_EQ(&best_streaming_copy(), copies.front());
  EXPECT_EQ(copies.back()->name, "portable");
}

#if defined(__x86_64__)
TEST(StreamingCopies, DirectStoresCanBeChosenButAreNotTheDefault) {
  host::CopyInstructions all;
  all.sse4_1 = all.avx2 = all.avx512f = all.movdir64b = true;
  EXPECT_EQ(names_of(all), (Names{"avx512", "movdir64b", "avx2", "sse4_1", "portable"}));
}

TEST(StreamingCopies, NoneNeedsWhatTheCpuLacks) {
  host::CopyInstructions some;
  some.sse4_1 = true;
  EXPECT_EQ(names_of(some), (Names{"sse4_1", "portable"}));
  some.avx2 = some.movdir64b = true;
  EXPECT_EQ(names_of(some), (Names{"avx2", "sse4_1", "portable"}));
}
#endif

}  // namespace
}  // namespace isthmus::window
