// What each policy migrates.
#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include <string>

#include "../messages.hpp"
#include "../policy_kinds.hpp"
#include "table_steps.hpp"

namespace isthmus::pages {
namespace {

using Spans = std::vector<Span>;

constexpr std::uint32_t kKiB = 1024;
constexpr std::uint32_t kMiB = 1024 * kKiB;

TEST(Policies, MoveTheWholePageForOneLine) {
  PageTable table(default_policy(PolicyKind::whole_page));
  EXPECT_EQ(read(table, 4096).transfers, (Spans{{0, 2 * kMiB}}));
  EXPECT_EQ(read(table, kMiB).outcome, Outcome::wait);
}

TEST(Policies, MoveTheUnitOfALine) {
  PageTable table(default_policy(PolicyKind::ranges));
  EXPECT_EQ(read(table, 5000 * 128).transfers, (Spans{{5000 * 128, kKiB}}));
  PageTable lines([] {
    MigrationPolicy policy = default_policy(PolicyKind::ranges);
    policy.request = RequestedLength::line;
    return policy;
  }());
  EXPECT_EQ(read(lines, 5000 * 128).transfers, (Spans{{5000 * 128, 128}}));
}

TEST(Policies, WithAUnitOfAPageAreAllTheSame) {
  for (const PolicyKind kind : {PolicyKind::bitmap, PolicyKind::ranges, PolicyKind::sequential,
                                PolicyKind::adaptive, PolicyKind::tree, PolicyKind::tree_units}) {
    PageTable table(policy_of(kind, 65536, 65536));
    EXPECT_EQ(read(table, 4096).transfers, (Spans{{0, 65536}}));
  }
}

TEST(Policies, FillTheGapWhenAPageHasTooManyRanges) {
  MigrationPolicy policy = policy_of(PolicyKind::ranges, 64 * kKiB, kKiB);
  policy.max_ranges = 2;
  PageTable table(policy);
  fetch(table, 0);
  fetch(table, 8 * kKiB);
  const Found third = fetch(table, 10 * kKiB);
  EXPECT_EQ(third.transfers, (Spans{{9 * kKiB, 2 * kKiB}}));
  EXPECT_EQ(table.num_ranges(third.slot), 2U);
}

TEST(Policies, MoveTheRestOfThePageWhenThatIsTheOverflowRule) {
  MigrationPolicy policy = policy_of(PolicyKind::ranges, 64 * kKiB, kKiB);
  policy.max_ranges = 1;
  policy.overflow = Overflow::whole_page;
  PageTable table(policy);
  fetch(table, 8 * kKiB);
  const Found second = fetch(table, 20 * kKiB);
  EXPECT_EQ(second.transfers, (Spans{{0, 8 * kKiB}, {9 * kKiB, 55 * kKiB}}));
  EXPECT_EQ(table.state(second.slot), State::gpu);
}

TEST(Policies, MoveBigPagesLikeTheDriver) {
  PageTable table(default_policy(PolicyKind::block_64k));
  EXPECT_EQ(read(table, 70 * kKiB).transfers, (Spans{{64 * kKiB, 64 * kKiB}}));
}

TEST(Policies, GrowAFaultToTheTreesSubtree) {
  PageTable table(default_policy(PolicyKind::tree));
  EXPECT_EQ(fetch(table, 4 * kKiB).transfers, (Spans{{0, 64 * kKiB}}));
  EXPECT_EQ(fetch(table, 64 * kKiB).transfers, (Spans{{64 * kKiB, 64 * kKiB}}));
  // 3 of 4 big pages will be resident: the fourth migrates too.
  EXPECT_EQ(fetch(table, 192 * kKiB).transfers, (Spans{{128 * kKiB, 128 * kKiB}}));
}

TEST(Policies, BringAPageInLogarithmicallyManyFaultsByTheTree) {
  PageTable table(default_policy(PolicyKind::tree));
  int num_faults = 0;
  for (std::uint64_t at = 0; at < 2 * kMiB; at += 128)
    if (fetch(table, at).outcome == Outcome::migrate) ++num_faults;
  // 64, 64, then [128, 256) with 3/4 there, [256, 512) after one more leaf each: 2 + 4.
  EXPECT_EQ(num_faults, 6);
  EXPECT_EQ(table.valid_bytes(), 2 * kMiB);
}

TEST(Policies, UseSmallUnitsAsLeavesOfTheTree) {
  PageTable table(default_policy(PolicyKind::tree_units));
  EXPECT_EQ(fetch(table, 0).transfers, (Spans{{0, kKiB}}));
  EXPECT_EQ(fetch(table, kKiB).transfers, (Spans{{kKiB, kKiB}}));
  EXPECT_EQ(fetch(table, 2 * kKiB).transfers, (Spans{{2 * kKiB, 2 * kKiB}}));
}

TEST(Policies, MoveWhatFollowsUpToThePagesEnd) {
  PageTable table(default_policy(PolicyKind::sequential));
  EXPECT_EQ(fetch(table, 0).transfers, (Spans{{0, 68 * kKiB}}));
  EXPECT_EQ(fetch(table, 2 * kMiB - 128).transfers, (Spans{{2 * kMiB - 4 * kKiB, 4 * kKiB}}));
  EXPECT_EQ(fetch(table, 2 * kMiB - 8 * kKiB).transfers, (Spans{{2 * kMiB - 8 * kKiB, 4 * kKiB}}));
}

TEST(Policies, LeaveAPageWhereItIsUntilItsCounterReachesTheThreshold) {
  MigrationPolicy policy = default_policy(PolicyKind::access_counter);
  policy.counter_threshold = 3;
  PageTable table(policy);
  EXPECT_EQ(read(table, 0).outcome, Outcome::remote);
  EXPECT_EQ(read(table, 128 * kKiB).outcome, Outcome::remote);
  const Found third = read(table, 100);
  EXPECT_EQ(third.outcome, Outcome::remote) << "served remotely while its data moves";
  EXPECT_EQ(third.transfers, (Spans{{0, 64 * kKiB}, {128 * kKiB, 64 * kKiB}}));
  EXPECT_EQ(read(table, 0).outcome, Outcome::wait) << "it is no longer mapped on the CPU";
  arrive(table, third);
  EXPECT_EQ(read(table, 0).outcome, Outcome::hit);
  EXPECT_TRUE(read(table, 64 * kKiB).transfers.empty()) << "the counter begins anew";
}

TEST(Policies, CountForEachCounterAlone) {
  MigrationPolicy policy = default_policy(PolicyKind::access_counter);
  policy.counter_threshold = 2;
  policy.counter_bytes = 64 * kKiB;
  PageTable table(policy);
  read(table, 0);
  EXPECT_TRUE(read(table, 64 * kKiB).transfers.empty());
  EXPECT_EQ(read(table, 128).transfers, (Spans{{0, 64 * kKiB}}));
}

TEST(Policies, NeverMoveAnythingWithZeroCopy) {
  PageTable table(default_policy(PolicyKind::zero_copy));
  for (int round = 0; round < 1000; ++round) {
    const Found found = read(table, 0);
    ASSERT_EQ(found.outcome, Outcome::remote);
    ASSERT_TRUE(found.transfers.empty());
  }
  EXPECT_EQ(table.resident_bytes(), 0U);
}

TEST(Policies, DoubleTheUnitBesideWhatIsThereAndHalveItElsewhere) {
  MigrationPolicy policy = default_policy(PolicyKind::adaptive);
  policy.max_unit_bytes = 4 * kKiB;
  PageTable table(policy);
  EXPECT_EQ(fetch(table, 0).transfers, (Spans{{0, kKiB}}));
  EXPECT_EQ(fetch(table, kKiB).transfers, (Spans{{kKiB, kKiB}})) << "block [0, 2 KiB)";
  EXPECT_EQ(fetch(table, 2 * kKiB).transfers, (Spans{{2 * kKiB, 2 * kKiB}}));
  EXPECT_EQ(fetch(table, 4 * kKiB).transfers, (Spans{{4 * kKiB, 4 * kKiB}}));
  EXPECT_EQ(fetch(table, 64 * kKiB).transfers, (Spans{{64 * kKiB, 2 * kKiB}}));
  EXPECT_EQ(fetch(table, 32 * kKiB).transfers, (Spans{{32 * kKiB, kKiB}}));
}

TEST(Policies, NeedNotFetchWholeLinesThatAreWritten) {
  MigrationPolicy policy = default_policy(PolicyKind::bitmap);
  policy.write = WriteMiss::validate;
  PageTable table(policy);
  EXPECT_EQ(ask(table, 128, 128, true).outcome, Outcome::hit);
  EXPECT_EQ(read(table, 128).outcome, Outcome::hit);
  EXPECT_EQ(ask(table, 256, 64, true).outcome, Outcome::migrate) << "half a line is fetched";
  PageTable again(policy);
  ask(again, 128, 128, true);
  EXPECT_EQ(read(again, 0).transfers, (Spans{{0, 128}, {256, 768}})) << "not what was written";
}

TEST(Policies, FetchTheGapBetweenARangeAndAWrittenLine) {
  MigrationPolicy policy = default_policy(PolicyKind::single_range);
  policy.write = WriteMiss::validate;
  PageTable table(policy);
  fetch(table, 0);
  EXPECT_EQ(ask(table, 128, 128, true).outcome, Outcome::hit);
  EXPECT_EQ(ask(table, 512, 128, true).transfers, (Spans{{256, 256}}));
}

std::string refusal(const MigrationPolicy& policy) {
  return test::message_of<UsageError>([&] { PageTable table(policy); });
}

TEST(Policies, WithInvalidSettingsAreRefused) {
  const MigrationPolicy unit = policy_of(PolicyKind::bitmap, 4096, 8192);
  EXPECT_EQ(refusal(unit),
            "unit_bytes is 8192, more than page_bytes (4096): it must be at most that");
  const MigrationPolicy odd = policy_of(PolicyKind::bitmap, 5000, 1024);
  EXPECT_TRUE(test::says(refusal(odd), "page_bytes is 5000: a power of two")) << refusal(odd);
  MigrationPolicy none = default_policy(PolicyKind::ranges);
  none.max_ranges = 0;
  EXPECT_TRUE(test::says(refusal(none), "max_ranges is 0")) << refusal(none);
  MigrationPolicy over = default_policy(PolicyKind::tree);
  over.tree_threshold_percent = 101;
  EXPECT_TRUE(test::says(refusal(over), "1 to 100")) << refusal(over);
  MigrationPolicy counters = default_policy(PolicyKind::access_counter);
  counters.unit_bytes = kKiB;
  EXPECT_TRUE(test::says(refusal(counters), "raise unit_bytes to 65536")) << refusal(counters);
}

TEST(Policies, HaveDefaultsThatCanBe) {
  for (const NamedKind& entry : policy_kinds())
    EXPECT_NO_THROW(PageTable table(default_policy(entry.kind))) << entry.name;
  EXPECT_EQ(policy_kinds().back().kind, PolicyKind::tree_units) << "and own is the last word";
}

}  // namespace
}  // namespace isthmus::pages
