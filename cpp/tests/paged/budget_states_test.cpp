// Budgeted arrays in every interleaving of two and three warps, over several launches, and the sweep
// of the clock between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "eviction.cuh"
#include "interleavings.hpp"

namespace isthmus::exploration {
namespace {

using Values = std::vector<std::uint32_t>;

Program loads(std::vector<std::size_t> items) {
  return [items](const Warp& warp) {
    BudgetedArray array = warp.budgeted();
    Values loaded;
    for (const std::size_t item : items) loaded.push_back(array.load(item).value);
    return loaded;
  };
}

Program stores(std::size_t item, std::uint32_t value) {
  return [=](const Warp& warp) {
    BudgetedArray array = warp.budgeted();
    array.store(item, {value});
    return Values{array.load(item).value};
  };
}

/// Asks for items of both units at once.
Program spans(std::size_t item, std::uint32_t value) {
  return [=](const Warp& warp) {
    BudgetedArray array = warp.budgeted();
    array.writable(0, kNumItems);
    array.store(item, {value});
    return Values{};
  };
}

/// Stores all items of a unit, which isn't fetched for it.
Program overwrites(std::size_t unit, std::uint32_t value) {
  return [=](const Warp& warp) {
    BudgetedArray array = warp.budgeted();
    array.overwrite(2 * unit, 2);
    array.store(2 * unit, {value});
    array.store(2 * unit + 1, {value + 1});
    return Values{};
  };
}

paged::word* settled_of(const Warp& warp) { return const_cast<paged::word*>(warp.map.settled); }

/// What the host's side launches before each kernel: the sweep has `num_warps`.
std::vector<Launch> turn(std::size_t num_warps) {
  const Program settles = [](const Warp& warp) {
    paged::settle_word(warp.machine, warp.map, settled_of(warp), 0);
    paged::begin_sweep(warp.machine, warp.map, paged::frames_of_round(warp.map, 1));
    return Values{};
  };
  const Program sweeps = [](const Warp& warp) {
    paged::sweep(warp.machine, warp.map, settled_of(warp), 1);
    return Values{};
  };
  return {
      {.warps = {settles}, .loaded = {{}}},
      {.warps = std::vector<Program>(num_warps, sweeps), .loaded = std::vector<Values>(num_warps)}};
}

/// Launches with turns between them. Without frames the host's side launches none.
std::vector<Launch> in_turn(std::size_t num_warps, const std::vector<Launch>& launches,
                            std::size_t num_frames = 1) {
  std::vector<Launch> all;
  for (const Launch& launch : launches) {
    if (!all.empty() && num_frames > 0) std::ranges::move(turn(num_warps), std::back_inserter(all));
    all.push_back(launch);
  }
  return all;
}

void expect_right(const Scenario& scenario) {
  const Outcome outcome = explore(scenario);
  EXPECT_TRUE(outcome.failures.empty()) << *outcome.failures.begin();
  EXPECT_GT(outcome.num_ends, 0U);
  EXPECT_LE(outcome.most_fetches, 1U) << "a unit was fetched twice";
}

/// For arrays of which none, half and all can be held.
class Budgets : public testing::TestWithParam<std::size_t> {
protected:
  Scenario scenario(std::vector<Launch> launches, std::array<std::uint32_t, kNumItems> host_after) {
    return {.launches = std::move(launches),
            .num_frames = GetParam(),
            .host_after = host_after,
            .budgeted = true};
  }
};
INSTANTIATE_TEST_SUITE_P(BudgetStates, Budgets, testing::Values(0U, 1U, 2U));

TEST_P(Budgets, TwoWarpsThatLoadOneUnitAgreeWhereItIs) {
  expect_right(scenario({{.warps = {loads({0}), loads({1})}, .loaded = {{100}, {101}}}},
                        {100, 101, 102, 103, 104, 105}));
}

TEST_P(Budgets, ThreeWarpsLoadTwoUnitsInDifferentOrders) {
  expect_right(scenario(
      {{.warps = {loads({0}), loads({2}), loads({1, 3})}, .loaded = {{100}, {102}, {101, 103}}}},
      {100, 101, 102, 103, 104, 105}));
}

TEST_P(Budgets, StoresOfTwoWarpsToOneUnitAndALoadOfTheOtherReachTheHost) {
  expect_right(
      scenario({{.warps = {stores(0, 5), stores(1, 6), loads({3})}, .loaded = {{5}, {6}, {103}}}},
               {5, 6, 102, 103, 104, 105}));
}

TEST_P(Budgets, ASpanOfBothUnitsBesideAStoreToOneLosesNothing) {
  expect_right(scenario({{.warps = {spans(0, 5), stores(1, 6)}, .loaded = {{}, {6}}}},
                        {5, 6, 102, 103, 104, 105}));
}

TEST_P(Budgets, AnOverwrittenUnitIsWholeBesideAWriterOfTheOther) {
  expect_right(scenario({{.warps = {overwrites(0, 50), stores(2, 7)}, .loaded = {{}, {7}}}},
                        {50, 51, 7, 103, 104, 105}));
}

TEST_P(Budgets, WhatOneLaunchStoresTheNextOnesLoad) {
  expect_right(
      scenario(in_turn(1,
                       {{.warps = {stores(0, 5), stores(3, 8)}, .loaded = {{5}, {8}}},
                        {.warps = {loads({2, 3}), stores(1, 6)}, .loaded = {{102, 8}, {6}}},
                        {.warps = {loads({0, 3}), loads({1})}, .loaded = {{5, 8}, {6}}}},
                       GetParam()),
               {5, 6, 102, 8, 104, 105}));
}

TEST_P(Budgets, TwoWarpsThatSweepFreeEachFrameOnce) {
  expect_right(scenario(in_turn(2,
                                {{.warps = {stores(0, 5), stores(2, 7)}, .loaded = {{5}, {7}}},
                                 {.warps = {loads({2, 3})}, .loaded = {{7, 103}}},
                                 {.warps = {loads({0, 2})}, .loaded = {{5, 7}}}},
                                GetParam()),
                        {5, 101, 7, 103, 104, 105}));
}

TEST_P(Budgets, WhatIsStoredInPlaceOrEvictedIsNotedForAFile) {
  Scenario scenario =
      this->scenario(in_turn(1,
                             {{.warps = {stores(0, 5), spans(3, 8)}, .loaded = {{5}, {}}},
                              {.warps = {loads({2, 3}), stores(1, 6)}, .loaded = {{102, 8}, {6}}}},
                             GetParam()),
                     {5, 6, 102, 8, 104, 105});
  scenario.notes_changes = true;
  expect_right(scenario);
}

TEST(BudgetStates, AUnitThatFoundNoFrameTakesThatOfOneThatIsNotUsed) {
  // Launch 1 gives the only frame to unit 0. Unit 1 is in place in launch 2; the sweep sees unit 0
  // used in launch 1, and frees it all the same. In launch 3 unit 1 is fetched.
  const Scenario scenario{
      .launches = in_turn(1, {{.warps = {stores(0, 5)}, .loaded = {{5}}},
                              {.warps = {loads({2})}, .loaded = {{102}}},
                              {.warps = {loads({2}), loads({3})}, .loaded = {{102}, {103}}}}),
      .num_frames = 1,
      .host_after = {5, 101, 102, 103, 104, 105},
      .budgeted = true};
  expect_right(scenario);
  EXPECT_EQ(explore(scenario).most_fetches, 1U);
}

TEST(BudgetStates, WarpsThatSweepInBothRoundsAtOnceFreeAFrameThatWasUsed) {
  const Program freed = [](const Warp& warp) {
    return Values{std::uint32_t(warp.machine.take(&warp.map.clock->freed, 0))};
  };
  std::vector<Launch> launches = {{.warps = {stores(0, 5)}, .loaded = {{5}}},
                                  {.warps = {loads({2})}, .loaded = {{102}}}};
  std::ranges::move(turn(2), std::back_inserter(launches));
  launches.push_back({.warps = {freed}, .loaded = {{1}}});
  expect_right({.launches = launches,
                .num_frames = 1,
                .host_after = {5, 101, 102, 103, 104, 105},
                .budgeted = true});
}

// The exploration sees what is wrong: else it would show nothing.

class BudgetDefects : public testing::TestWithParam<std::pair<Defect, const char*>> {};

TEST_P(BudgetDefects, AreFound) {
  const auto [defect, failure] = GetParam();
  const Scenario scenario{
      .launches = in_turn(2, {{.warps = {stores(0, 5), stores(1, 6)}, .loaded = {{5}, {6}}},
                              {.warps = {stores(2, 7)}, .loaded = {{7}}},
                              {.warps = {loads({2}), loads({0})}, .loaded = {{7}, {5}}}}),
      .num_frames = 1,
      .host_after = {5, 6, 7, 103, 104, 105},
      .budgeted = true};
  EXPECT_TRUE(explore(scenario).failures.empty());
  const Outcome outcome = explore(scenario, defect);
  EXPECT_TRUE(outcome.failures.contains(failure));
}

INSTANTIATE_TEST_SUITE_P(
    BudgetStates, BudgetDefects,
    testing::Values(std::pair{Defect::publish_without_release, "a race"},
                    std::pair{Defect::check_without_acquire, "a race"},
                    std::pair{Defect::publish_before_fetch, "a warp loaded what isn't there"},
                    std::pair{Defect::everybody_wins, "the host hasn't what was stored"},
                    std::pair{Defect::nobody_publishes, "all warps that haven't ended wait"},
                    std::pair{Defect::a_frame_for_two, "a unit's frame has another"},
                    std::pair{Defect::evict_what_is_kept, "a frame is lost, or there twice"},
                    std::pair{Defect::evict_without_sending, "a warp loaded what isn't there"}));

TEST(BudgetStates, AStoreInPlaceThatIsNotNotedIsFound) {
  const Scenario scenario{.launches = {{.warps = {stores(0, 5)}, .loaded = {{5}}}},
                          .num_frames = 0,
                          .host_after = {5, 101, 102, 103, 104, 105},
                          .budgeted = true,
                          .notes_changes = true};
  expect_right(scenario);
  EXPECT_TRUE(explore(scenario, Defect::forget_a_change).failures.contains("a change isn't noted"));
}

TEST(BudgetStates, TwoUnitsThatComeForTheLastFrameAtOnceLoseNone) {
  const Scenario scenario{
      .launches = in_turn(1, {{.warps = {loads({0}), stores(2, 7)}, .loaded = {{100}, {7}}},
                              {.warps = {loads({1}), loads({3})}, .loaded = {{101}, {103}}}}),
      .num_frames = 1,
      .host_after = {100, 101, 7, 103, 104, 105},
      .budgeted = true};
  expect_right(scenario);
  EXPECT_TRUE(explore(scenario, Defect::keep_what_is_missing)
                  .failures.contains("a frame is lost, or there twice"));
}

TEST(BudgetStates, TwoWarpsThatComeToOneFrameInDifferentRoundsFreeItOnce) {
  const Program forgets = [](const Warp& warp) {
    warp.machine.and_relaxed(warp.map.used, 0);
    warp.machine.take(&warp.map.clock->missed, 1);  // so that either warp may free a frame
    return Values{};
  };
  std::vector<Launch> launches = {{.warps = {stores(0, 5)}, .loaded = {{5}}},
                                  {.warps = {forgets}, .loaded = {{}}},
                                  {.warps = {loads({2})}, .loaded = {{102}}}};
  std::ranges::move(turn(2), std::back_inserter(launches));
  const Scenario scenario{.launches = launches,
                          .num_frames = 1,
                          .host_after = {5, 101, 102, 103, 104, 105},
                          .budgeted = true};
  expect_right(scenario);
  EXPECT_TRUE(explore(scenario, Defect::free_a_frame_twice)
                  .failures.contains("a frame is lost, or there twice"));
}

}  // namespace
}  // namespace isthmus::exploration
