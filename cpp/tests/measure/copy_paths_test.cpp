// Copies by each path on any driver. Times are only checked for plausibility.
#include "measure/bandwidth/copy_paths.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"

namespace isthmus::measure {
namespace {

constexpr Turns kQuick{.min_turns = 2, .max_turns = 2, .max_seconds = 0, .turn_seconds = 10e-6};
constexpr std::size_t kMaxBytes = std::size_t{2} << 20U;
constexpr CopyPath kPaths[] = {CopyPath::window, CopyPath::window_threads, CopyPath::driver,
                               CopyPath::staged, CopyPath::registered};
constexpr Direction kDirections[] = {Direction::host_to_device, Direction::device_to_host};

class CopyPathsTest : public testing::Test {
protected:
  std::vector<PathTimes> measure(const std::vector<CopyPath>& paths, Direction direction,
                                 std::size_t size_bytes, const Turns& turns = kQuick) {
    return copies_.measure(buffers_, {paths, direction, size_bytes, turns});
  }
  std::vector<PathTimes> measure_after(double pause_seconds, const std::vector<CopyPath>& paths) {
    return copies_.measure(buffers_,
                           {paths, Direction::device_to_host, 64 * 1024, kQuick, pause_seconds});
  }
  std::uint64_t num_copies(CopyPath path) const {
    for (const PathUse& use : copies_.stats())
      if (use.path == path) return use.num_copies;
    return 0;
  }
  std::vector<std::byte> host_bytes() const {
    return {buffers_.host(), buffers_.host() + buffers_.size_bytes()};
  }

  Context context_ = test::context();
  CopyPaths copies_{context_};
  CopyBuffers buffers_{context_, HostMemory::pageable, kMaxBytes, std::nullopt};
};

TEST_F(CopyPathsTest, EachWayGivesTimesOfOddSizesOrTheReasonWhyItIsUnavailable) {
  const std::vector<CopyPath> all(std::begin(kPaths), std::end(kPaths));
  for (const Direction direction : kDirections) {
    for (const std::size_t size_bytes : {std::size_t{1}, std::size_t{4097}, kMaxBytes - 1}) {
      const auto found = measure(all, direction, size_bytes);
      ASSERT_EQ(found.size(), all.size());
      for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(found[i].path, all[i]);
        EXPECT_EQ(found[i].times.seconds.empty(), !found[i].absence.empty()) << name_of(all[i]);
        for (const double seconds : found[i].times.seconds) EXPECT_GT(seconds, 0);
      }
    }
  }
}

TEST_F(CopyPathsTest, TheDriversWayIsAlwaysThere) {
  for (const Direction direction : kDirections)
    EXPECT_EQ(measure({CopyPath::driver}, direction, 4096)[0].absence, "");
}

TEST_F(CopyPathsTest, EveryCopyGoesTheWayThatIsMeasuredThoughNoneIsNamed) {
  for (const CopyPath path : kPaths) {
    for (const Direction direction : kDirections) {
      std::vector<std::uint64_t> before;
      for (const CopyPath other : kPaths) before.push_back(num_copies(other));
      if (!measure({path}, direction, 4096)[0].absence.empty()) continue;
      for (std::size_t i = 0; i < std::size(kPaths); ++i)
        EXPECT_EQ(num_copies(kPaths[i]) > before[i], kPaths[i] == path)
            << name_of(kPaths[i]) << " where " << name_of(path) << " was measured";
    }
  }
}

TEST_F(CopyPathsTest, AfterAPauseEachTurnIsOneCopy) {
  const auto found = measure_after(1e-6, {CopyPath::driver, CopyPath::staged});
  for (const PathTimes& one : found) {
    EXPECT_FALSE(one.times.seconds.empty()) << name_of(one.path);
    EXPECT_EQ(one.times.runs_per_turn, 1u);
  }
  // One that is compared, at most three to see how long it takes, and the turns.
  EXPECT_LE(num_copies(CopyPath::driver), 1 + 3 + kQuick.max_turns);
  EXPECT_GE(num_copies(CopyPath::driver), 1 + kQuick.min_turns);
}

TEST_F(CopyPathsTest, APauseThatIsNoTimeIsRefused) {
  for (const double wrong : {-1e-3, 1.5, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(measure_after(wrong, {CopyPath::driver}), UsageError) << wrong;
}

TEST_F(CopyPathsTest, BothOfTwoWaysAreMeasured) {
  Turns turns = kQuick;
  turns.hopeless = 1e9;
  const auto found = measure({CopyPath::driver, CopyPath::registered}, Direction::host_to_device,
                             kMaxBytes, turns);
  if (!found[1].absence.empty()) GTEST_SKIP() << found[1].absence;
  // One for the comparison, one warm-up, and two turns.
  for (const CopyPath path : {CopyPath::driver, CopyPath::registered})
    EXPECT_GE(num_copies(path), 4U) << name_of(path);
}

/// Here the driver's turn comes before the same download.
TEST_F(CopyPathsTest, AStagedDownloadIsTimedAsOneThoughTheDriverHasJustMadeIt) {
  constexpr int kNumTurns = 20;
  const Turns turns{.min_turns = kNumTurns,
                    .max_turns = kNumTurns,
                    .max_seconds = 0,
                    .turn_seconds = 1e-6,
                    .hopeless = 1e9};
  const auto found =
      measure({CopyPath::driver, CopyPath::staged}, Direction::device_to_host, 4096, turns);
  if (!found[1].absence.empty()) GTEST_SKIP() << found[1].absence;
  EXPECT_GE(num_copies(CopyPath::driver), std::uint64_t{kNumTurns});
  EXPECT_GE(num_copies(CopyPath::staged), std::uint64_t{kNumTurns});
}

TEST_F(CopyPathsTest, BothSidesHoldTheSameBytesAfterwards) {
  measure({CopyPath::driver}, Direction::host_to_device, kMaxBytes);
  const std::vector<std::byte> sent = host_bytes();
  measure({CopyPath::driver}, Direction::device_to_host, kMaxBytes);
  EXPECT_TRUE(sent == host_bytes());
}

TEST_F(CopyPathsTest, AnUnavailableWayLeavesTheOthersBytesAlone) {
  // Copies use windows of at most 16 MiB.
  const std::size_t size_bytes = std::size_t{17} << 20U;
  CopyBuffers long_buffers(context_, HostMemory::pageable, size_bytes, std::nullopt);
  for (const Direction direction : kDirections) {
    const auto found = copies_.measure(
        long_buffers, {{CopyPath::driver, CopyPath::window}, direction, size_bytes, kQuick});
    EXPECT_EQ(found[0].absence, "");
    EXPECT_NE(found[1].absence, "");
    EXPECT_TRUE(found[1].times.seconds.empty());
  }
}

TEST_F(CopyPathsTest, InvalidSizesAndTurnsAreRefused) {
  for (const std::size_t size_bytes : {std::size_t{0}, kMaxBytes + 1})
    EXPECT_THROW(measure({CopyPath::driver}, Direction::host_to_device, size_bytes), UsageError);
  EXPECT_THROW(measure({CopyPath::driver}, Direction::host_to_device, 64, {.min_turns = 0}),
               UsageError);
}

TEST_F(CopyPathsTest, StagedCopiesAreTimedByTheNumberOfThreads) {
  for (const Direction direction : kDirections) {
    const auto found = copies_.measure_ring(buffers_, direction, kMaxBytes, kQuick);
    ASSERT_FALSE(found.empty());
    if (found.size() == 1) continue;  // no choice on this machine
    for (const RingTimes& one : found) EXPECT_FALSE(one.times.seconds.empty()) << one.num_threads;
  }
}

TEST(RingThreadCounts, GoUpToWhatThereIsOrPays) {
  EXPECT_EQ(ring_thread_counts(1), std::vector{1});
  EXPECT_EQ(ring_thread_counts(2), (std::vector{1, 2}));
  EXPECT_EQ(ring_thread_counts(5), (std::vector{1, 2, 4, 5}));
  EXPECT_EQ(ring_thread_counts(1000), (std::vector{1, 2, 4, 6, 8, 10, 12, 14, 16}));
}

}  // namespace
}  // namespace isthmus::measure
