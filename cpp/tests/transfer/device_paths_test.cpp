// Which path is chosen for which costs.
#include "transfer/plan/device_paths.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "transfer/made_up_profiles.hpp"
#include "transfer/staging_under_test.hpp"

namespace isthmus::transfer {
namespace {

/// The same costs for each direction and kind of memory, at any size.
Profile profile_of(const std::vector<std::pair<CopyPath, CostCurve>>& curves) {
  std::vector<Profile::Entry> entries;
  for (const auto& [path, curve] : curves)
    for (const Direction direction : kDirections)
      for (const MemoryKind kind : {MemoryKind::pageable, MemoryKind::pinned})
        entries.push_back({path, direction, kind, curve});
  return {std::move(entries), true, "made up"};
}

CostCurve always(double seconds) { return CostCurve({{1, seconds}}); }

class DevicePathsTest : public StagingUnderTest {
protected:
  void SetUp() override {
    StagingUnderTest::SetUp();
    if (IsSkipped()) return;
    windows_.emplace(Windows(driver()));
    paths_.emplace(driver(), 0, *windows_);
  }
  void TearDown() override {
    paths_.reset();
    windows_.reset();
    StagingUnderTest::TearDown();
  }

  DevicePaths& paths() { return *paths_; }
  void use(const Profile& profile) { paths_->use(std::make_shared<const Profile>(profile)); }
  CopyPath best(std::size_t size_bytes) const {
    return paths_->best({Direction::device_to_host, MemoryKind::pinned, size_bytes}, false).path;
  }

  /// A download after a pause.
  static constexpr Crossing kAfterPause{Direction::device_to_host, MemoryKind::pinned, 65536, true};
  Choice best_after_pause() const { return paths_->best(kAfterPause, false); }

private:
  std::optional<WindowCache> windows_;
  std::optional<DevicePaths> paths_;
};

TEST_F(DevicePathsTest, APathMustBeThirteenTenthsCheaperThanTheDriversCopy) {
  for (const CopyPath path : {CopyPath::window, CopyPath::window_threads, CopyPath::staged}) {
    const Crossing crossing{Direction::host_to_device, MemoryKind::pageable, 4096};
    use(profile_of({{CopyPath::driver, always(1.29e-5)}, {path, always(1e-5)}}));
    EXPECT_EQ(paths().best(crossing, false).path, CopyPath::driver) << name_of(path);
    use(profile_of({{CopyPath::driver, always(1.31e-5)}, {path, always(1e-5)}}));
    EXPECT_EQ(paths().best(crossing, false).path, path);
  }
}

TEST_F(DevicePathsTest, SeveralThreadsMustBeThirteenTenthsCheaperThanOne) {
  const auto best_with = [&](double seconds_of_threads) {
    use(profile_of({{CopyPath::driver, always(1e-4)},
                    {CopyPath::window, always(1.3e-5)},
                    {CopyPath::window_threads, always(seconds_of_threads)}}));
    return best(4096);
  };
  EXPECT_EQ(best_with(1.01e-5), CopyPath::window);
  EXPECT_EQ(best_with(0.99e-5), CopyPath::window_threads);
}

TEST_F(DevicePathsTest, StagingAndTheDriverDoNotTakeTurnsWithTheRhythm) {
  const auto bests = [&](double driver_pause_seconds, double staged_pause_seconds) {
    use(profile_with_pauses({{CopyPath::driver, 140e-6, driver_pause_seconds},
                             {CopyPath::staged, 100e-6, staged_pause_seconds}}));
    Crossing crossing{Direction::device_to_host, MemoryKind::pageable, kMiB};
    const CopyPath again = paths().best(crossing, false).path;
    EXPECT_EQ(paths().costs(crossing).front().path, again);
    crossing.after_pause = true;
    return std::pair{again, paths().best(crossing, false).path};
  };
  EXPECT_EQ(bests(50e-6, 15e-6), std::pair(CopyPath::staged, CopyPath::staged));
  EXPECT_EQ(bests(15e-6, 50e-6), std::pair(CopyPath::driver, CopyPath::driver))
      << "cheap back to back alone";
  use(profile_with_pauses({{CopyPath::driver, 120e-6, 200e-6}, {CopyPath::staged, 100e-6, 1e-6}}));
  const Crossing after_pause{Direction::device_to_host, MemoryKind::pageable, kMiB, true};
  EXPECT_EQ(paths().best(after_pause, false).path, CopyPath::driver) << "cheap after a pause alone";
}

TEST_F(DevicePathsTest, LongPageableCopiesOfTheDefaultsAreStagedInBothRhythms) {
  if (!driver().emulated()) GTEST_SKIP() << "for a ring that is made here";
  const LinkClass gen5{.kind = LinkClass::Kind::pcie, .generation = 5, .width = 16};
  use(Profile::defaults({.link = gen5, .num_cores = 32}));
  for (const Direction direction : kDirections)
    for (const bool after_pause : {false, true}) {
      const auto path_of = [&](std::size_t size_bytes) {
        return paths().best({direction, MemoryKind::pageable, size_bytes, after_pause}, true).path;
      };
      for (const std::size_t size : {4 * kMiB, 8 * kMiB, 16 * kMiB, 256 * kMiB})
        EXPECT_EQ(path_of(size), CopyPath::staged) << size;
      for (const std::size_t size : {kMiB / 2, kMiB}) EXPECT_EQ(path_of(size), CopyPath::driver);
    }
}

TEST_F(DevicePathsTest, OneThreadsWindowIsTheSamePathInBothRhythms) {
  use(profile_with_pauses({{CopyPath::driver, 6e-6, 15e-6}, {CopyPath::window, 2e-6, 15e-6}}));
  EXPECT_EQ(best(kAfterPause.size_bytes), CopyPath::window);
  EXPECT_EQ(best_after_pause().path, CopyPath::window) << "21 us beside 17";
}

TEST_F(DevicePathsTest, ThePredictionIsTheTimeOfTheCopyWithoutAMargin) {
  use(profile_of({{CopyPath::driver, always(1e-4)}, {CopyPath::window, always(1e-5)}}));
  const Crossing crossing{Direction::host_to_device, MemoryKind::pageable, 4096};
  EXPECT_DOUBLE_EQ(paths().best(crossing, false).seconds, 1e-5);
  EXPECT_DOUBLE_EQ(paths().best(crossing, true).seconds, 1e-4);
  const auto costs = paths().costs(crossing);
  EXPECT_EQ(costs[0].path, CopyPath::window);
  EXPECT_DOUBLE_EQ(costs[0].seconds, 1e-5);
  EXPECT_EQ(costs[0].reason, "it must be 1.3 times cheaper than the driver's copy");
  EXPECT_EQ(costs[1].path, CopyPath::driver);
  EXPECT_EQ(costs[1].reason, "");
}

TEST_F(DevicePathsTest, SmallCopiesAreOneThreadsUpToWhereThreadsPayAndWindowsToWhereTheDriverDoes) {
  use(profile_of({{CopyPath::driver, CostCurve({{1, 10e-6}, {1000000, 20e-6}})},
                  {CopyPath::window, CostCurve({{1, 1e-6}, {1000000, 1001e-6}})},
                  {CopyPath::window_threads, CostCurve({{1, 2e-6}, {1000000, 202e-6}})}}));
  for (const Direction direction : kDirections) {
    // 1 + n / 1000 equals 1.3 * (2 + n / 5000) at 2162 bytes, and that equals 10 + n / 100000 at
    // 29600. One thread's reads take twice the driver's time at 19388. All are found in
    // steps of a quarter.
    const std::size_t most = direction == Direction::host_to_device ? 29600 : 19388;
    EXPECT_GT(paths().window_until_bytes(direction), 2162 * 3 / 4);
    EXPECT_LE(paths().window_until_bytes(direction), 2163);
    EXPECT_GT(paths().window_threads_until_bytes(direction), most * 3 / 4);
    EXPECT_LE(paths().window_threads_until_bytes(direction), most + 1);
  }
}

TEST_F(DevicePathsTest, ThreadsThatTakeTwiceTheDriversCpuTimeAreOnlyTakenByName) {
  use(profile_of({{CopyPath::driver, always(10e-6)},
                  {CopyPath::window, CostCurve({{1, 1e-6}, {40001, 41e-6}})},
                  {CopyPath::window_threads, always(5e-6)}}));
  const auto download = [](std::size_t size_bytes) {
    return Crossing{Direction::device_to_host, MemoryKind::pageable, size_bytes};
  };
  EXPECT_EQ(paths().best(download(19000), false).path, CopyPath::window_threads);
  EXPECT_EQ(paths().best(download(19002), false).path, CopyPath::driver);
  const Crossing upload{Direction::host_to_device, MemoryKind::pageable, 40000};
  EXPECT_EQ(paths().best(upload, false).path, CopyPath::window_threads) << "two threads write";
  EXPECT_EQ(paths().obstacle(CopyPath::window_threads, download(40000)), "");
  const auto costs = paths().costs(download(40000));
  const auto found = std::ranges::find(costs, CopyPath::window_threads, &PathCost::path);
  ASSERT_NE(found, costs.end());
  EXPECT_FALSE(found->usable);
  EXPECT_EQ(found->reason,
            "only if it is named: its threads take more than twice the CPU time of the driver's "
            "copy");
}

TEST_F(DevicePathsTest, AfterAPauseThreadsMustBeWorthWaking) {
  use(profile_with_pauses(
      {{CopyPath::driver, 15e-6, 10e-6}, {CopyPath::window_threads, 10e-6, 50e-6}}));
  EXPECT_EQ(best(kAfterPause.size_bytes), CopyPath::window_threads);
  EXPECT_EQ(best_after_pause().path, CopyPath::driver);
  EXPECT_DOUBLE_EQ(best_after_pause().seconds, 25e-6);
  const auto costs = paths().costs(kAfterPause);
  EXPECT_EQ(costs[0].path, CopyPath::driver);
  EXPECT_DOUBLE_EQ(costs[1].seconds, 60e-6);
}

TEST_F(DevicePathsTest, OnlyCopiesThatAreBestInBothRhythmsAreAlwaysWindows) {
  use(profile_with_pauses(
      {{CopyPath::driver, 15e-6, 10e-6}, {CopyPath::window_threads, 10e-6, 50e-6}}));
  for (const Direction direction : kDirections) {
    EXPECT_GT(paths().window_threads_until_bytes(direction), 0u);
    EXPECT_EQ(paths().window_always_until_bytes(direction), 0u);
  }
  use(profile_with_pauses({{CopyPath::driver, 15e-6, 10e-6}, {CopyPath::window, 1e-6, 10e-6}}));
  for (const Direction direction : kDirections)
    EXPECT_EQ(paths().window_always_until_bytes(direction), paths().window_until_bytes(direction));
}

TEST_F(DevicePathsTest, OneThreadCopiesAfterPausesUntilOthersAreWorthWaking) {
  const auto costs_more = [](double bytes_per_s) {
    return CostCurve({{1, 1e-6}, {kMiB, 1e-6 + kMiB / bytes_per_s}});
  };
  std::vector<Profile::Entry> entries;
  for (const Direction direction : kDirections)
    for (const MemoryKind kind : {MemoryKind::pageable, MemoryKind::pinned}) {
      entries.push_back({CopyPath::driver, direction, kind, always(1e-2), 10e-6});
      entries.push_back({CopyPath::window, direction, kind, costs_more(1e9), 10e-6});
      entries.push_back({CopyPath::window_threads, direction, kind, costs_more(1.5e9), 30e-6});
    }
  use({std::move(entries), true, "made up"});
  const Direction up = Direction::host_to_device;
  const Crossing last{up, MemoryKind::pinned, paths().window_alone_until_bytes(up), true};
  EXPECT_GT(last.size_bytes, paths().window_until_bytes(up));
  EXPECT_LT(last.size_bytes, paths().window_always_until_bytes(up));
  EXPECT_EQ(paths().best(last, false).path, CopyPath::window);
  Crossing longer = last;
  longer.size_bytes += longer.size_bytes / 4;
  EXPECT_EQ(paths().best(longer, false).path, CopyPath::window_threads);
}

TEST_F(DevicePathsTest, TheRingTakesTheThreadsThatWereMeasured) {
  const int most = paths().ring().max_threads();
  const int unmeasured = paths().ring().num_threads();
  const Profile profile = profile_of({{CopyPath::driver, always(1)}});
  use(profile.with_ring_threads({1000, 1}));
  EXPECT_EQ(paths().ring().num_threads(), most);
  use(profile);
  EXPECT_EQ(paths().ring().num_threads(), unmeasured);
}

TEST_F(DevicePathsTest, AProfileThatIsUsedAgainReplacesTheOneBetween) {
  const auto first = std::make_shared<const Profile>(
      profile_of({{CopyPath::driver, always(1e-5)}, {CopyPath::window, always(1e-6)}}));
  paths().use(first);
  use(profile_of({{CopyPath::driver, always(1e-5)}}));
  EXPECT_EQ(best(64), CopyPath::driver);
  paths().use(first);
  EXPECT_EQ(best(64), CopyPath::window);
}

}  // namespace
}  // namespace isthmus::transfer
