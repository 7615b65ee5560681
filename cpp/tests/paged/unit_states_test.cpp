// The state machine of a paged array's units, in every interleaving of two and three warps.
#include <gtest/gtest.h>

#include "interleavings.hpp"

namespace isthmus::exploration {
namespace {

using Values = std::vector<std::uint32_t>;

Program stores(std::size_t item, std::uint32_t value) {
  return [=](const Warp& warp) {
    Array array = warp.array();
    array.store(item, {value});
    return Values{array.load(item).value};
  };
}

/// As isthmus_paged_settle, beside other warps.
Program concludes() {
  return [](const Warp& warp) {
    if (warp.machine.acquire(warp.map.valid) == 7) warp.machine.or_release(warp.map.whole, 1);
    return Values{};
  };
}

/// Stores to an item and loads it and another one, without a look at units if all are valid by then.
Program stores_if_held(std::size_t item, std::uint32_t value, std::size_t other) {
  return [=](const Warp& warp) {
    const auto use = [&](auto array) {
      array.store(item, {value});
      return Values{array.load(item).value, array.load(other).value};
    };
    const paged_map& map = warp.map;
    return holds_all(map, warp.machine) ? use(warp.held()) : use(warp.array());
  };
}

/// Every interleaving is right, and at least one ends.
void expect_right(const Scenario& scenario) {
  const Outcome outcome = explore(scenario);
  EXPECT_TRUE(outcome.failures.empty()) << *outcome.failures.begin();
  EXPECT_GT(outcome.num_ends, 0U);
  EXPECT_LE(outcome.most_fetches, 1U) << "a unit was fetched twice";
}

TEST(UnitStates, TwoWarpsThatLoadOneUnitFetchItOnce) {
  expect_right({.launches = {{.warps = {loads({0}), loads({1})}, .loaded = {{100}, {101}}}},
                .host_after = {100, 101, 102, 103, 104, 105}});
}

TEST(UnitStates, AllOrdersHaveTheOutcomesOfThoseOfAtomics) {
  const Scenario scenario{
      .launches = {{.warps = {stores(0, 5), loads({1, 2})}, .loaded = {{5}, {101, 102}}}},
      .host_after = {5, 101, 102, 103, 104, 105}};
  const Outcome all = explore(scenario, Defect::none, Orders::all);
  EXPECT_TRUE(all.failures.empty());
  EXPECT_GT(all.num_states, explore(scenario).num_states);
}

TEST(UnitStates, ThreeWarpsLoadTwoUnitsInDifferentOrders) {
  expect_right({.launches = {{.warps = {loads({0, 2}), loads({3, 1}), loads({1, 0, 2})},
                              .loaded = {{100, 102}, {103, 101}, {101, 100, 102}}}},
                .host_after = {100, 101, 102, 103, 104, 105}});
}

TEST(UnitStates, StoresOfTwoWarpsToOneUnitBothReachTheHost) {
  expect_right({.launches = {{.warps = {stores(0, 5), stores(1, 6)}, .loaded = {{5}, {6}}}},
                .host_after = {5, 6, 102, 103, 104, 105}});
}

TEST(UnitStates, AStoreBesideTwoReadersIsNeitherLostNorSeenInOtherItems) {
  expect_right({.launches = {{.warps = {loads({0, 2}), stores(1, 7), loads({2, 0})},
                              .loaded = {{100, 102}, {7}, {102, 100}}}},
                .host_after = {100, 7, 102, 103, 104, 105}});
}

TEST(UnitStates, ThreeWarpsStoreToTwoUnits) {
  expect_right({.launches = {{.warps = {stores(0, 5), stores(1, 6), stores(2, 7)},
                              .loaded = {{5}, {6}, {7}}}},
                .host_after = {5, 6, 7, 103, 104, 105}});
}

TEST(UnitStates, AnOverwrittenUnitIsWholeBesideAReaderAndAWriterOfTheOther) {
  expect_right({.launches = {{.warps = {overwrites(0, 50), stores(2, 7), loads({3})},
                              .loaded = {{}, {7}, {103}}}},
                .host_after = {50, 51, 7, 103, 104, 105}});
}

TEST(UnitStates, TwoWarpsOverwriteTwoUnitsWhichNobodyFetches) {
  const Scenario scenario{
      .launches = {{.warps = {overwrites(0, 50), overwrites(1, 60)}, .loaded = {{}, {}}}},
      .host_after = {50, 51, 60, 61, 104, 105}};
  expect_right(scenario);
  EXPECT_EQ(explore(scenario).most_fetches, 0U);
}

TEST(UnitStates, UnitsThatWereValidBeforeTheLaunchAreNotFetched) {
  for (const std::uint32_t unsettled : {0U, 7U}) {
    const Scenario scenario{.launches = {{.warps = {loads({0, 2}), stores(1, 7), loads({3})},
                                          .loaded = {{100, 102}, {7}, {103}}}},
                            .valid_before = 7,
                            .unsettled = unsettled,
                            .host_after = {100, 7, 102, 103, 104, 105}};
    expect_right(scenario);
    EXPECT_EQ(explore(scenario).most_fetches, 0U);
  }
}

TEST(UnitStates, AWarpThatIsToldThatAllIsHeldSeesWhatOthersHaveFetchedAndLosesNoStore) {
  expect_right({.launches = {{.warps = {loads({0, 2, 4}), concludes(), stores_if_held(1, 7, 5)},
                              .loaded = {{100, 102, 104}, {}, {7, 105}}}},
                .host_after = {100, 7, 102, 103, 104, 105}});
}

TEST(UnitStates, AWarpIsToldOfAllThatWasHeldBeforeAndOfNoLess) {
  for (const std::uint32_t before : {7U, 3U})
    expect_right(
        {.launches = {{.warps = {concludes(), stores_if_held(1, 7, 5)}, .loaded = {{}, {7, 105}}}},
         .valid_before = before,
         .all_settled = before == 7,
         .host_after = {100, 7, 102, 103, 104, 105}});
}

// The exploration sees what is wrong: else it would show nothing.

class Defects : public testing::TestWithParam<std::pair<Defect, const char*>> {};

TEST_P(Defects, AreFound) {
  const auto [defect, failure] = GetParam();
  const Scenario scenario{
      .launches = {{.warps = {loads({0}), stores(1, 7)}, .loaded = {{100}, {7}}}},
      .host_after = {100, 7, 102, 103, 104, 105}};
  const Outcome outcome = explore(scenario, defect);
  EXPECT_TRUE(outcome.failures.contains(failure));
}

INSTANTIATE_TEST_SUITE_P(
    UnitStates, Defects,
    testing::Values(std::pair{Defect::publish_without_release, "a race"},
                    std::pair{Defect::check_without_acquire, "a race"},
                    std::pair{Defect::publish_before_fetch, "a warp loaded what isn't there"},
                    std::pair{Defect::everybody_wins, "the host hasn't what was stored"},
                    std::pair{Defect::nobody_publishes, "all warps that haven't ended wait"}));

// Nothing else races, so this also shows that a warp is told.
TEST(UnitStates, AWarpThatIsToldWithoutAnAcquireIsFound) {
  const Scenario scenario{
      .launches = {{.warps = {loads({0, 2, 4}), concludes(), stores_if_held(1, 7, 5)},
                    .loaded = {{100, 102, 104}, {}, {7, 105}}}},
      .host_after = {100, 7, 102, 103, 104, 105}};
  EXPECT_TRUE(explore(scenario, Defect::told_without_acquire).failures.contains("a race"));
}

TEST(UnitStates, AWarpThatTakesUnitsForValidWhichItHasNotSeenIsFound) {
  const Scenario scenario{
      .launches = {{.warps = {loads({0, 2}), loads({1})}, .loaded = {{100, 102}, {101}}}},
      .host_after = {100, 101, 102, 103, 104, 105}};
  expect_right(scenario);
  EXPECT_TRUE(
      explore(scenario, Defect::know_too_much).failures.contains("a warp loaded what isn't there"));
}

}  // namespace
}  // namespace isthmus::exploration
