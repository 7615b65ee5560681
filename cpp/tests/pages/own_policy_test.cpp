#include "pages/own_policy.hpp"

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "../messages.hpp"
#include "table_steps.hpp"

namespace isthmus::pages {
namespace {

/// A policy whose functions need no state.
isthmus_policy_table table_of(decltype(isthmus_policy_table::on_access) on_access) {
  isthmus_policy_table table{};
  table.version = ISTHMUS_POLICY_VERSION;
  table.on_access = on_access;
  return table;
}

std::uint32_t its_unit(void*, const isthmus_access* access, isthmus_span* spans, std::uint32_t) {
  spans[0] = {access->offset_bytes, access->length_bytes};
  return 1;
}

/// What its_unit() brings, and a span twice, an empty one, and what has come already.
std::uint32_t unit_and_more(void*, const isthmus_access* access, isthmus_span* spans,
                            std::uint32_t) {
  spans[0] = spans[1] = {access->offset_bytes, access->length_bytes};
  spans[2] = {0, 0};
  spans[3] = {0, 1};
  return 4;
}

TEST(OwnPolicies, BringWhatTheBuiltInOneBrings) {
  const isthmus_policy_table functions = table_of(its_unit);
  OwnRun run({&functions, "mine", nullptr}, default_policy(PolicyKind::own), 0);
  PageTable own(default_policy(PolicyKind::own), &run);
  PageTable ours(default_policy(PolicyKind::bitmap));
  for (const std::uint64_t address : {0ULL, 4096ULL, 1024ULL, 0ULL, 128ULL, (2ULL << 20U) + 999}) {
    const Found theirs = read(ours, address);
    const Found found = read(own, address);
    EXPECT_EQ(found.outcome, theirs.outcome) << address;
    EXPECT_EQ(found.transfers, theirs.transfers) << address;
    if (address == 4096) arrive(own, found), arrive(ours, theirs);
  }
  EXPECT_EQ(own.resident_bytes(), ours.resident_bytes());
}

TEST(OwnPolicies, SendNothingTwice) {
  const isthmus_policy_table functions = table_of(unit_and_more);
  OwnRun run({&functions, "mine", nullptr}, default_policy(PolicyKind::own), 0);
  PageTable table(default_policy(PolicyKind::own), &run);
  EXPECT_EQ(read(table, 4096).transfers, (std::vector<Span>{{4096, 1024}, {0, 1024}}));
  EXPECT_EQ(read(table, 8192).transfers, (std::vector<Span>{{8192, 1024}}));
}

TEST(OwnPolicies, DestroyWhatTheyCreatedAlsoAfterAnException) {
  static int alive = 0;
  isthmus_policy_table functions =
      table_of([](void*, const isthmus_access*, isthmus_span*, std::uint32_t) -> std::uint32_t {
        throw std::runtime_error("no idea");
      });
  functions.create = [](void*, const isthmus_policy_setup*) -> void* { return ++alive, &alive; };
  functions.destroy = [](void*) { --alive; };
  const std::string said = test::message_of<UsageError>([&] {
    OwnRun run({&functions, "mine", nullptr}, default_policy(PolicyKind::own), 0);
    EXPECT_EQ(alive, 1);
    PageTable table(default_policy(PolicyKind::own), &run);
    read(table, 0);
  });
  EXPECT_EQ(said, "policy mine: on_access threw: no idea");
  EXPECT_EQ(alive, 0);
}

TEST(OwnPolicies, NeedATable) {
  EXPECT_THROW(PageTable table(default_policy(PolicyKind::own)), UsageError);
}

TEST(OwnPolicies, NameEachVictimOnceAndKeepThoseBeyondTheNeeded) {
  isthmus_policy_table functions = table_of(its_unit);
  functions.victims = [](void*, const std::uint64_t* pages, std::uint32_t, std::uint32_t,
                         std::uint64_t* chosen) -> std::uint32_t {
    chosen[0] = pages[2];
    chosen[1] = chosen[2] = pages[0];
    return 3;
  };
  OwnRun run({&functions, "mine", nullptr}, default_policy(PolicyKind::own), 0);
  const std::array<std::uint64_t, 4> pages = {5, 6, 7, 8};
  const auto named = run.victims(pages, 2);
  EXPECT_EQ(std::vector(named.begin(), named.end()), (std::vector<std::uint32_t>{2, 0}));
  EXPECT_EQ(test::message_of<UsageError>([&] { run.victims(pages, 3); }),
            "policy mine: victims named page 5 twice, or it isn't one of the 4 that may leave");
}

}  // namespace
}  // namespace isthmus::pages
