// Contestants take turns, on a simulated clock.
#include "measure/bandwidth/copy_paths.hpp"

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

namespace isthmus::measure {
namespace {

/// Contestants that record which of them ran, and how often.
class TurnsTest : public testing::Test {
protected:
  /// Every run takes `seconds`.
  Contestant steady(int name, double seconds) {
    return [this, name, seconds](std::size_t num_runs) {
      runs_.emplace_back(name, num_runs);
      return seconds;
    };
  }
  /// The contestants that ran after the first `num_first` runs.
  std::vector<int> names_after(std::size_t num_first) const {
    std::vector<int> names;
    for (std::size_t i = num_first; i < runs_.size(); ++i) names.push_back(runs_[i].first);
    return names;
  }

  std::vector<std::pair<int, std::size_t>> runs_;
};

constexpr Turns kThree{.min_turns = 3, .max_turns = 3, .max_seconds = 1};

TEST_F(TurnsTest, EachTakesItsTurnInEachRoundAnotherOneFirst) {
  const auto times = take_turns({steady(0, 2e-3), steady(1, 3e-3), steady(2, 2e-3)}, kThree);
  EXPECT_EQ(names_after(6), (std::vector{0, 1, 2, 1, 2, 0, 2, 0, 1}));
  for (const Times& one : times) EXPECT_EQ(one.seconds.size(), 3U);
  EXPECT_EQ(times[1].seconds, (std::vector{3e-3, 3e-3, 3e-3}));
}

TEST_F(TurnsTest, ShortOnesRunAgainAndAgainInATurn) {
  const auto times = take_turns({steady(0, 1e-6), steady(1, 1e-3)}, kThree);
  EXPECT_EQ(times[1].runs_per_turn, 1U);
  EXPECT_EQ(times[0].runs_per_turn, 100U);
  EXPECT_EQ(runs_.back().second, 100U);
}

TEST_F(TurnsTest, TheFirstSlowRunsDoNotDecideTheRunsPerTurn) {
  int num_calls = 0;
  const Contestant sleepy = [&](std::size_t /*num_runs*/) {
    return ++num_calls <= 3 ? 50e-6 : 5e-6;
  };
  EXPECT_EQ(take_turns({sleepy}, kThree)[0].runs_per_turn, 20U);
}

TEST_F(TurnsTest, AnInterruptInTheFirstRunsLeavesNobodyOut) {
  int num_calls = 0;
  const Contestant interrupted = [&](std::size_t /*num_runs*/) {
    return ++num_calls == 1 ? 500e-6 : 1e-6;
  };
  EXPECT_EQ(take_turns({steady(0, 1e-6), interrupted}, kThree)[1].seconds.size(), 3U);
}

TEST_F(TurnsTest, AMuchSlowerContestantRunsOnce) {
  const auto times = take_turns({steady(0, 1e-3), steady(1, 4.1e-3), steady(2, 3.9e-3)}, kThree);
  EXPECT_EQ(times[1].seconds, std::vector{4.1e-3});
  EXPECT_EQ(times[0].seconds.size(), 3U);
  EXPECT_EQ(times[2].seconds.size(), 3U);
}

TEST_F(TurnsTest, ThereAreAsManyRoundsAsThereIsTimeForWithinTheLimits) {
  const auto num_rounds = [this](double max_seconds) {
    const Turns turns{.min_turns = 2, .max_turns = 9, .max_seconds = max_seconds};
    return take_turns({steady(0, 0.01), steady(1, 0.01)}, turns)[0].seconds.size();
  };
  EXPECT_EQ(num_rounds(0), 2U);
  EXPECT_EQ(num_rounds(0.1001), 5U);
  EXPECT_EQ(num_rounds(10), 9U);
}

TEST_F(TurnsTest, NoContestantsTakeNoTime) { EXPECT_TRUE(take_turns({}, kThree).empty()); }

TEST_F(TurnsTest, ARunTooShortForTheClockEndsAll) {
  EXPECT_EQ(take_turns({steady(0, 0)}, kThree)[0].seconds.size(), 3U);
}

TEST_F(TurnsTest, InvalidTurnsAreRefused) {
  for (const Turns& turns :
       {Turns{.min_turns = 0}, Turns{.min_turns = 3, .max_turns = 2}, Turns{.max_seconds = -1},
        Turns{.turn_seconds = -1}, Turns{.hopeless = 0.5}})
    EXPECT_THROW(take_turns({steady(0, 1e-3)}, turns), UsageError);
}

}  // namespace
}  // namespace isthmus::measure
