// Large units: their rest comes along, in every interleaving of two and three warps.
#include <gtest/gtest.h>

#include "interleavings.hpp"

namespace isthmus::exploration {
namespace {

using Values = std::vector<std::uint32_t>;
using Sets = std::set<std::uint32_t>;

Program stores(std::size_t item, std::uint32_t value) {
  return [=](const Warp& warp) {
    Array array = warp.array();
    array.store(item, {value});
    return Values{};
  };
}

constexpr unsigned kWhole = 2;  // parts_shift: the array's three units are one large one's parts

/// Every interleaving is right, no unit is fetched twice, and these are the bits of the units that are
/// valid at the end.
void expect_valid(const Scenario& scenario, const Sets& valid) {
  const Outcome outcome = explore(scenario);
  EXPECT_TRUE(outcome.failures.empty()) << *outcome.failures.begin();
  EXPECT_GT(outcome.num_ends, 0U);
  EXPECT_LE(outcome.most_fetches, 1U) << "a unit was fetched twice";
  EXPECT_EQ(outcome.valid, valid);
}

/// The same, of one warp that loads items.
void expect_valid_after(unsigned parts_shift, const std::vector<std::size_t>& items,
                        std::uint32_t valid) {
  Values loaded;
  for (const std::size_t item : items) loaded.push_back(std::uint32_t(100 + item));
  expect_valid({.launches = {{.warps = {loads(items)}, .loaded = {loaded}}},
                .parts_shift = parts_shift,
                .host_after = items_before()},
               {valid});
}

TEST(LargeUnitStates, AllOfItComesToTwoWarpsThatLoadOneUnit) {
  expect_valid({.launches = {{.warps = {loads({0}), loads({1})}, .loaded = {{100}, {101}}}},
                .parts_shift = kWhole,
                .host_after = items_before()},
               {7});
}

TEST(LargeUnitStates, AllOfItComesToTwoWarpsThatLoadDifferentUnits) {
  expect_valid({.launches = {{.warps = {loads({0, 4}), loads({5})}, .loaded = {{100, 104}, {105}}}},
                .parts_shift = kWhole,
                .host_after = items_before()},
               {7});
}

TEST(LargeUnitStates, AllOfItComesToThreeWarpsOfWhichOneStores) {
  expect_valid({.launches = {{.warps = {loads({0}), stores(3, 7), loads({4})},
                              .loaded = {{100}, {}, {104}}}},
                .parts_shift = kWhole,
                .host_after = {100, 101, 102, 7, 104, 105}},
               {7});
}

TEST(LargeUnitStates, AnOverwrittenUnitIsWholeBesideARestThatComes) {
  expect_valid({.launches = {{.warps = {overwrites(1, 50), loads({0})}, .loaded = {{}, {100}}}},
                .parts_shift = kWhole,
                .host_after = {100, 101, 50, 51, 104, 105}},
               {7});
}

TEST(LargeUnitStates, OnlyTheUnitComesOfAnArrayOfTwo) {
  expect_valid_after(1, {3}, 3);
  expect_valid_after(1, {4}, 4);
  expect_valid({.launches = {{.warps = {loads({0}), loads({2}), loads({3})},
                              .loaded = {{100}, {102}, {103}}}},
                .parts_shift = 1,
                .host_after = items_before()},
               {3});
}

TEST(LargeUnitStates, NoUnitIsLookedAtIfAllWereValidBefore) {
  const Scenario scenario{.launches = {{.warps = {loads({0, 2}), stores(1, 7), loads({5})},
                                        .loaded = {{100, 102}, {}, {105}}}},
                          .valid_before = 7,
                          .all_settled = true,
                          .host_after = {100, 7, 102, 103, 104, 105}};
  expect_valid(scenario, {7});
  Scenario looked = scenario;
  looked.all_settled = false;
  EXPECT_LT(explore(scenario).num_states, explore(looked).num_states);
}

class LargeUnitDefects : public testing::TestWithParam<std::pair<Defect, const char*>> {};

TEST_P(LargeUnitDefects, AreFoundInWhatComesAlong) {
  const auto [defect, failure] = GetParam();
  // The second warp needs only what comes along with the first one's unit, or comes first.
  const Scenario scenario{
      .launches = {{.warps = {loads({0}), stores(3, 7)}, .loaded = {{100}, {}}}},
      .parts_shift = kWhole,
      .host_after = {100, 101, 102, 7, 104, 105}};
  const Outcome outcome = explore(scenario, defect);
  EXPECT_TRUE(outcome.failures.contains(failure));
}

INSTANTIATE_TEST_SUITE_P(
    LargeUnitStates, LargeUnitDefects,
    testing::Values(std::pair{Defect::publish_without_release, "a race"},
                    std::pair{Defect::check_without_acquire, "a race"},
                    std::pair{Defect::publish_before_fetch, "a race"},
                    std::pair{Defect::everybody_wins, "the host hasn't what was stored"},
                    std::pair{Defect::nobody_publishes, "all warps that haven't ended wait"}));

}  // namespace
}  // namespace isthmus::exploration
