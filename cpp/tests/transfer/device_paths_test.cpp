// Which path is chosen for which costs.
#include "transfer/copy/device_paths.hpp"

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

TEST_F(DevicePathsTest, AGainThatNoiseCouldMakeLeavesTheCopyToTheDriver) {
  use(profile_of({{CopyPath::driver, always(1e-5)}, {CopyPath::window, always(0.98e-5)}}));
  EXPECT_EQ(best(4096), CopyPath::driver);
  use(profile_of({{CopyPath::driver, always(1e-5)}, {CopyPath::window, always(0.96e-5)}}));
  EXPECT_EQ(best(4096), CopyPath::window);
}

TEST_F(DevicePathsTest, ThreadsMustGainMoreThanOneThreadMust) {
  use(profile_of({{CopyPath::driver, always(1e-5)}, {CopyPath::window_threads, always(0.95e-5)}}));
  EXPECT_EQ(best(4096), CopyPath::driver);
  use(profile_of({{CopyPath::driver, always(1e-5)}, {CopyPath::window_threads, always(0.9e-5)}}));
  EXPECT_EQ(best(4096), CopyPath::window_threads);
  use(profile_of({{CopyPath::driver, always(1e-4)},
                  {CopyPath::window, always(1e-5)},
                  {CopyPath::window_threads, always(0.97e-5)}}));
  EXPECT_EQ(best(4096), CopyPath::window);
}

TEST_F(DevicePathsTest, ThePredictionIsTheTimeOfTheCopyWithoutAMargin) {
  use(profile_of({{CopyPath::driver, always(1e-4)}, {CopyPath::window, always(1e-5)}}));
  const Crossing crossing{Direction::host_to_device, MemoryKind::pageable, 4096};
  EXPECT_DOUBLE_EQ(paths().best(crossing, false).seconds, 1e-5);
  EXPECT_DOUBLE_EQ(paths().best(crossing, true).seconds, 1e-4);
  const auto costs = paths().costs(crossing);
  EXPECT_EQ(costs[0].path, CopyPath::window);
  EXPECT_DOUBLE_EQ(costs[0].seconds, 1e-5);
  EXPECT_EQ(costs[0].reason, "counted 1.03 times: it must clearly beat the driver's copy");
  EXPECT_EQ(costs[1].path, CopyPath::driver);
  EXPECT_EQ(costs[1].reason, "");
}

TEST_F(DevicePathsTest, SmallCopiesAreOneThreadsUpToWhereThreadsPayAndWindowsToWhereTheDriverDoes) {
  use(profile_of({{CopyPath::driver, CostCurve({{1, 10e-6}, {1000000, 20e-6}})},
                  {CopyPath::window, CostCurve({{1, 1e-6}, {1000000, 1001e-6}})},
                  {CopyPath::window_threads, CostCurve({{1, 2e-6}, {1000000, 202e-6}})}}));
  for (const Direction direction : kDirections) {
    // 1.03 * (1 + n / 1000) equals 1.1 * (2 + n / 5000) at 1445 bytes, and that equals 10 + n /
    // 100000 at 37118. One thread's reads take twice the driver's time at 19388. All are found in
    // steps of a quarter.
    const std::size_t most = direction == Direction::host_to_device ? 37118 : 19388;
    EXPECT_GT(paths().window_until_bytes(direction), 1445 * 3 / 4);
    EXPECT_LE(paths().window_until_bytes(direction), 1446);
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

TEST_F(DevicePathsTest, WindowsThatThreadsShareAreAlwaysTakenOnlyWhereTheyWinClearlyAfterPauses) {
  const Direction up = Direction::host_to_device;
  const auto until_bytes = [&](double driver_pause_seconds) {
    use(profile_with_pauses({{CopyPath::driver, 10e-6, driver_pause_seconds},
                             {CopyPath::window, 5e-6, 15e-6},
                             {CopyPath::window_threads, 4e-6, 15e-6}}));
    return paths().window_always_until_bytes(up);
  };
  EXPECT_EQ(until_bytes(14e-6), 0U) << "1.2 of the time of one thread";
  EXPECT_GT(until_bytes(16e-6), 0U) << "1.3";
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

TEST_F(DevicePathsTest, AfterPausesTheDriverIsTriedNowAndThenWhereItMayBeTheBestByNow) {
  use(profile_with_pauses({{CopyPath::driver, 10e-6, 20e-6}, {CopyPath::window, 10e-6, 10e-6}}));
  ASSERT_EQ(best_after_pause().path, CopyPath::window);
  std::vector<int> tried;
  for (int i = 0; i < 40; ++i)
    if (paths().is_driver_to_be_tried(CopyPath::window, kAfterPause)) tried.push_back(i);
  EXPECT_EQ(tried, (std::vector<int>{1, 17, 33}));
  // By the driver such copies take 15 us, by the window 20. What one try tells isn't forgotten before the
  // next.
  for (int i = 0; i < 32 && best_after_pause().path == CopyPath::window; ++i)
    if (paths().is_driver_to_be_tried(CopyPath::window, kAfterPause))
      paths().learn(paths().expectation(CopyPath::driver, kAfterPause), 15e-6, true);
    else
      paths().learn(paths().expectation(CopyPath::window, kAfterPause), 20e-6);
  EXPECT_EQ(best_after_pause().path, CopyPath::driver);
}

TEST_F(DevicePathsTest, TheDriverIsTriedEvenIfItWasSlowAndTakenAgainOnceItIsQuick) {
  use(profile_with_pauses({{CopyPath::driver, 10e-6, 28e-6}, {CopyPath::window, 18e-6, 30e-6}}));
  // Such as downloads to memory without pages.
  for (int i = 0; i < 16; ++i)
    paths().learn(paths().expectation(CopyPath::driver, kAfterPause), 250e-6);
  ASSERT_EQ(best_after_pause().path, CopyPath::window);
  int num_by_window = 0;
  while (!paths().is_driver_to_be_tried(CopyPath::window, kAfterPause) && ++num_by_window < 40)
    paths().learn(paths().expectation(CopyPath::window, kAfterPause), 38e-6);
  EXPECT_EQ(num_by_window, 1);
  paths().learn(paths().expectation(CopyPath::driver, kAfterPause), 20e-6, true);
  EXPECT_EQ(best_after_pause().path, CopyPath::driver);
}

TEST_F(DevicePathsTest, TheDriverIsTriedWherePausesCostTheBestPathLessThanTheProfileSays) {
  use(profile_with_pauses({{CopyPath::driver, 10e-6, 35e-6}, {CopyPath::window, 18e-6, 24e-6}}));
  ASSERT_EQ(best_after_pause().path, CopyPath::window);
  // Pauses cost hardly anything here: by the driver such copies take 13 us, by the window 21.
  std::vector<int> tried;
  for (int i = 0; i < 40 && best_after_pause().path == CopyPath::window; ++i) {
    const bool is_try = paths().is_driver_to_be_tried(CopyPath::window, kAfterPause);
    if (is_try) tried.push_back(i);
    paths().learn(paths().expectation(is_try ? CopyPath::driver : CopyPath::window, kAfterPause),
                  is_try ? 13e-6 : 21e-6, is_try);
  }
  EXPECT_EQ(best_after_pause().path, CopyPath::driver);
  EXPECT_LE(tried.size(), 2U);
}

TEST_F(DevicePathsTest, TheDriverIsTriedIfItWasQuickerThanTheProfileSays) {
  use(profile_with_pauses({{CopyPath::driver, 10e-6, 60e-6}, {CopyPath::window, 18e-6, 10e-6}}));
  const auto num_tried = [&] {
    int num = 0;
    for (int i = 0; i < 32; ++i)
      num += paths().is_driver_to_be_tried(CopyPath::window, kAfterPause) ? 1 : 0;
    return num;
  };
  EXPECT_EQ(num_tried(), 0);
  for (int i = 0; i < 16; ++i)
    paths().learn(paths().expectation(CopyPath::driver, kAfterPause), 40e-6);
  EXPECT_EQ(num_tried(), 2);
}

TEST_F(DevicePathsTest, ATryThatIsQuickerThanWasThoughtCountsForMoreThanASlowerOne) {
  const auto seconds_after_try = [&](double seconds) {
    use(profile_with_pauses({{CopyPath::driver, 10e-6, 40e-6}}));
    paths().learn(paths().expectation(CopyPath::driver, kAfterPause), seconds, true);
    return paths().seconds(CopyPath::driver, kAfterPause);
  };
  EXPECT_NEAR(seconds_after_try(90e-6), 70e-6, 1e-9) << "half of the way from 50 us";
  EXPECT_NEAR(seconds_after_try(10e-6), 20e-6, 1e-9) << "three quarters";
}

TEST_F(DevicePathsTest, TheDriverIsNotTriedWithoutAPauseNorWhereItIsFarBehind) {
  const auto is_ever_tried = [&](const Crossing& crossing) {
    for (int i = 0; i < 40; ++i)
      if (paths().is_driver_to_be_tried(CopyPath::window, crossing)) return true;
    return false;
  };
  use(profile_with_pauses({{CopyPath::driver, 10e-6, 20e-6}, {CopyPath::window, 10e-6, 10e-6}}));
  EXPECT_TRUE(is_ever_tried(kAfterPause));
  Crossing back_to_back = kAfterPause;
  back_to_back.after_pause = false;
  EXPECT_FALSE(is_ever_tried(back_to_back));
  use(profile_with_pauses({{CopyPath::driver, 10e-6, 40e-6}, {CopyPath::window, 10e-6, 10e-6}}));
  EXPECT_FALSE(is_ever_tried(kAfterPause));
  // Pauses cost half of what the profile says, also the driver: 60 us, beside the window's 30.
  use(profile_with_pauses({{CopyPath::driver, 10e-6, 100e-6}, {CopyPath::window, 18e-6, 24e-6}}));
  for (int i = 0; i < 500; ++i)
    paths().learn(paths().expectation(CopyPath::window, kAfterPause), 30e-6);
  EXPECT_FALSE(is_ever_tried(kAfterPause));
}

TEST_F(DevicePathsTest, WhatPausesOfThisProgramCostIsLearnedInAFewCopies) {
  use(profile_with_pauses({{CopyPath::driver, 15e-6, 10e-6}}));
  for (int i = 0; i < 16; ++i)
    paths().learn(paths().expectation(CopyPath::driver, kAfterPause), 35e-6);
  EXPECT_NEAR(best_after_pause().seconds, 35e-6, 0.2e-6);
  EXPECT_DOUBLE_EQ(paths().seconds(CopyPath::driver, {kAfterPause.direction, kAfterPause.host_kind,
                                                      kAfterPause.size_bytes}),
                   15e-6)
      << "copies that follow each other take what they took";
  for (int i = 0; i < 16; ++i)
    paths().learn(paths().expectation(CopyPath::driver, kAfterPause), 5e-6);
  EXPECT_NEAR(best_after_pause().seconds, 15e-6, 0.3e-6) << "never less than without a pause";
}

TEST_F(DevicePathsTest, OneCopyThatWasInterruptedChangesLittle) {
  use(profile_with_pauses({{CopyPath::driver, 15e-6, 10e-6}}));
  paths().learn(paths().expectation(CopyPath::driver, kAfterPause), 1);
  EXPECT_LE(best_after_pause().seconds, 30.1e-6);
}

TEST_F(DevicePathsTest, APathThatOnceWasSlowIsTriedAgain) {
  use(profile_with_pauses({{CopyPath::driver, 10e-6, 20e-6}, {CopyPath::window, 10e-6, 10e-6}}));
  EXPECT_EQ(best_after_pause().path, CopyPath::window);
  for (int i = 0; i < 16; ++i)
    paths().learn(paths().expectation(CopyPath::window, kAfterPause), 40e-6);
  EXPECT_EQ(best_after_pause().path, CopyPath::driver);
  int num_copies = 0;
  while (best_after_pause().path == CopyPath::driver && ++num_copies < 1000)
    paths().learn(paths().expectation(CopyPath::driver, kAfterPause), 30e-6);
  EXPECT_GT(num_copies, 16);
  EXPECT_LT(num_copies, 200);
}

TEST_F(DevicePathsTest, WherePausesCostMoreAPathIsNotTakenOnlyBecauseItWasNotTried) {
  use(profile_with_pauses(
      {{CopyPath::window, 85e-6, 23e-6}, {CopyPath::window_threads, 67e-6, 32e-6}}));
  // Pauses cost three times what the profile says, here and now, by each path.
  int by_several = 0;
  for (int i = 0; i < 500; ++i) {
    const CopyPath path = best_after_pause().path;
    by_several += path == CopyPath::window_threads ? 1 : 0;
    paths().learn(paths().expectation(path, kAfterPause),
                  path == CopyPath::window ? 154e-6 : 163e-6);
  }
  EXPECT_LE(by_several, 4);
}

TEST_F(DevicePathsTest, APathThatPausesCostLittleTellsNothingOfOthers) {
  use(profile_with_pauses({{CopyPath::driver, 40e-6, 2e-6}, {CopyPath::window, 10e-6, 30e-6}}));
  paths().learn(paths().expectation(CopyPath::window, kAfterPause), 70e-6);
  EXPECT_GT(paths().seconds(CopyPath::window, kAfterPause), 41e-6);
  // 4 us more than the profile says are three times what a pause costs this path.
  for (int i = 0; i < 500; ++i)
    paths().learn(paths().expectation(CopyPath::driver, kAfterPause), 46e-6);
  EXPECT_NEAR(paths().seconds(CopyPath::window, kAfterPause), 40e-6, 0.1e-6) << "by the profile";
  EXPECT_EQ(best_after_pause().path, CopyPath::window);
}

TEST_F(DevicePathsTest, AnotherProfileBeginsAnew) {
  const Profile profile = profile_with_pauses({{CopyPath::driver, 15e-6, 10e-6}});
  use(profile);
  for (int i = 0; i < 16; ++i)
    paths().learn(paths().expectation(CopyPath::driver, kAfterPause), 35e-6);
  use(profile);
  EXPECT_DOUBLE_EQ(best_after_pause().seconds, 25e-6);
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
