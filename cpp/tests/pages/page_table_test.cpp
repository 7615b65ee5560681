// The state machine of Zhang 2019's Figure 1b, step by step.
#include "pages/page_table.hpp"

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include <string>

#include "../messages.hpp"
#include "table_steps.hpp"

namespace isthmus::pages {
namespace {

constexpr std::uint64_t kBase = 0xC0000000;

PageTable table_of(PolicyKind kind) { return PageTable(policy_of(kind, 8192, 1024)); }

TEST(PageTable, StartsWithAllDataOnTheCpu) {
  PageTable table = table_of(PolicyKind::bitmap);
  const std::uint32_t slot = table.slot_of(table.page_number_of(kBase));
  EXPECT_EQ(table.state(slot), State::cpu);
  EXPECT_EQ(table.valid_bytes(), 0U);
  EXPECT_TRUE(table.ranges(slot).empty());
}

TEST(PageTable, IsNotValidBeforeTheTransferArrives) {
  PageTable table = table_of(PolicyKind::bitmap);
  const Found found = read(table, kBase + 1024);
  EXPECT_EQ(found.outcome, Outcome::migrate);
  EXPECT_EQ(found.transfers, (std::vector<Span>{{1024, 1024}}));
  EXPECT_EQ(table.state(found.slot), State::cpu);
  EXPECT_EQ(read(table, kBase + 1024).outcome, Outcome::wait);
  EXPECT_EQ(table.resident_bytes(), 1024U);
  EXPECT_EQ(table.valid_bytes(), 0U);

  EXPECT_TRUE(table.arrived(found.slot, found.epoch, found.transfers[0]));
  EXPECT_EQ(table.state(found.slot), State::partial);
  EXPECT_EQ(read(table, kBase + 1024).outcome, Outcome::hit);
  EXPECT_EQ(table.valid_bytes(), 1024U);
}

TEST(PageTable, HoldsAWholePageOnceAllOfItHasArrived) {
  PageTable table = table_of(PolicyKind::bitmap);
  for (std::uint64_t at = 0; at < 8192; at += 1024) fetch(table, kBase + at);
  const std::uint32_t slot = table.slot_of(table.page_number_of(kBase));
  EXPECT_EQ(table.state(slot), State::gpu);
  EXPECT_EQ(table.ranges(slot), (std::vector<Span>{{0, 8192}}));
}

TEST(PageTable, GoesBackToTheCpuWholeWhateverItsState) {
  for (const PolicyKind kind : {PolicyKind::whole_page, PolicyKind::single_range,
                                PolicyKind::ranges, PolicyKind::bitmap, PolicyKind::tree_units}) {
    PageTable table = table_of(kind);
    const Found found = fetch(table, kBase);
    const auto bytes = static_cast<std::uint32_t>(moved_bytes(found));
    EXPECT_EQ(table.cpu_request(table.page_number_of(kBase)), bytes);
    EXPECT_EQ(table.state(found.slot), State::cpu);
    EXPECT_EQ(table.valid_bytes(), 0U);
    EXPECT_EQ(table.resident_bytes(), 0U);
    EXPECT_EQ(read(table, kBase).transfers, found.transfers) << "as if for the first time";
  }
}

TEST(PageTable, DropsATransferThatWasUnderWayWhenThePageWentBack) {
  PageTable table = table_of(PolicyKind::bitmap);
  const Found late = read(table, kBase);
  EXPECT_EQ(table.cpu_request(table.page_number_of(kBase)), 0U);
  const Found again = read(table, kBase);
  EXPECT_FALSE(table.arrived(late.slot, late.epoch, late.transfers[0]));
  EXPECT_EQ(read(table, kBase).outcome, Outcome::wait);
  EXPECT_TRUE(table.arrived(again.slot, again.epoch, again.transfers[0]));
  EXPECT_EQ(read(table, kBase).outcome, Outcome::hit);
}

TEST(PageTable, CountsTransfersUnderWay) {
  PageTable table = table_of(PolicyKind::bitmap);
  const Found first = read(table, kBase);
  read(table, kBase + 4096);
  EXPECT_EQ(table.page(first.slot).under_way, 2U);
  arrive(table, first);
  EXPECT_EQ(table.page(first.slot).under_way, 1U);
}

TEST(PageTable, TransfersAgainForEachRequestThatDoesNotMerge) {
  MigrationPolicy policy = policy_of(PolicyKind::whole_page, 8192, 1024);
  policy.merge = false;
  PageTable table(policy);
  const Found first = read(table, kBase);
  const Found second = read(table, kBase + 512);
  EXPECT_EQ(second.outcome, Outcome::migrate);
  EXPECT_EQ(second.transfers, (std::vector<Span>{{0, 8192}}));
  EXPECT_EQ(table.resident_bytes(), 8192U) << "one page of memory all the same";
  arrive(table, first);
  EXPECT_FALSE(table.arrived(second.slot, second.epoch, second.transfers[0]));
  EXPECT_EQ(table.page(first.slot).under_way, 0U);
}

TEST(PageTable, MovesUnderAPlannedRangeOnlyWhatIsNew) {
  PageTable table = table_of(PolicyKind::single_range);
  EXPECT_EQ(read(table, kBase + 1024).transfers, (std::vector<Span>{{1024, 128}}));
  EXPECT_EQ(read(table, kBase + 2048).transfers, (std::vector<Span>{{1152, 1024}}));
  EXPECT_EQ(read(table, kBase + 512).transfers, (std::vector<Span>{{512, 512}}));
  EXPECT_EQ(read(table, kBase + 1536).outcome, Outcome::wait);
}

TEST(PageTable, MovesTheGapAgainFromAValidRange) {
  MigrationPolicy policy = policy_of(PolicyKind::single_range, 8192, 1024);
  policy.single_gap = SingleGap::valid;
  PageTable table(policy);
  fetch(table, kBase);
  EXPECT_EQ(read(table, kBase + 1024).transfers, (std::vector<Span>{{128, 1024}}));
  EXPECT_EQ(read(table, kBase + 2048).transfers, (std::vector<Span>{{128, 2048}}));
}

TEST(PageTable, AsksAgainForWhatDoesNotTouchTheValidRange) {
  MigrationPolicy policy = policy_of(PolicyKind::single_range, 8192, 1024);
  policy.single_gap = SingleGap::valid;
  PageTable table(policy);
  const Found near = read(table, kBase);
  const Found far = read(table, kBase + 1024);
  arrive(table, near);
  EXPECT_FALSE(table.arrived(far.slot, far.epoch, far.transfers[0]));
  EXPECT_EQ(table.resident_bytes(), 128U);
  const Found again = read(table, kBase + 1024);
  EXPECT_EQ(again.transfers, (std::vector<Span>{{128, 1024}}));
  arrive(table, again);
  EXPECT_EQ(table.ranges(near.slot), (std::vector<Span>{{0, 1152}}));
}

TEST(PageTable, ServesRemotelyWhatARangeIsRefusedFor) {
  MigrationPolicy policy = policy_of(PolicyKind::ranges, 8192, 1024);
  policy.max_ranges = 1;
  policy.overflow = Overflow::refuse;
  PageTable table(policy);
  fetch(table, kBase);
  const Found found = read(table, kBase + 4096);
  EXPECT_EQ(found.outcome, Outcome::remote);
  EXPECT_TRUE(found.transfers.empty());
}

TEST(PageTable, FindsPagesThatLieFarApart) {
  PageTable table = table_of(PolicyKind::bitmap);
  for (std::uint64_t index = 0; index < 5000; ++index) fetch(table, index * (1ULL << 33));
  EXPECT_EQ(table.valid_bytes(), 5000U * 1024);
  for (std::uint64_t index = 0; index < 5000; ++index) {
    const Found found = read(table, index * (1ULL << 33));
    ASSERT_EQ(found.outcome, Outcome::hit);
    ASSERT_EQ(table.page_number(found.slot), table.page_number_of(index * (1ULL << 33)));
  }
}

TEST(PageTable, RefusesARequestThatCrossesPages) {
  PageTable table = table_of(PolicyKind::bitmap);
  const std::string message = test::message_of<UsageError>([&] { ask(table, 8192 - 64, 128); });
  EXPECT_TRUE(test::says(message, "isn't within one page of 8192 bytes")) << message;
  EXPECT_THROW(ask(table, 0, 0), UsageError);
  EXPECT_THROW(ask(table, 0, 8193), UsageError);
  EXPECT_NO_THROW(ask(table, 0, 8192));
}

TEST(PageTable, FindsAllOfAnIdealMachinesDataResident) {
  PageTable table = table_of(PolicyKind::bitmap);
  table.make_resident(kBase + 100, 8192);
  EXPECT_EQ(read(table, kBase).outcome, Outcome::hit);
  EXPECT_EQ(read(table, kBase + 8192 + 100).outcome, Outcome::hit);
  EXPECT_EQ(read(table, kBase + 2 * 8192).outcome, Outcome::migrate);
  EXPECT_EQ(table.valid_bytes(), 2U * 8192);
}

TEST(PageTable, KeepsTheRestOfAPageWhenAPartIsEvicted) {
  PageTable table = table_of(PolicyKind::bitmap);
  table.make_resident(kBase, 8192);
  const std::uint32_t slot = table.slot_of(table.page_number_of(kBase));
  EXPECT_EQ(table.evict(slot, {2048, 1024}), 1024U);
  EXPECT_EQ(table.ranges(slot), (std::vector<Span>{{0, 2048}, {3072, 5120}}));
  EXPECT_EQ(table.evict(slot, {1024, 2048}), 1024U) << "the rest of it had gone before";
  EXPECT_EQ(read(table, kBase + 2048).outcome, Outcome::migrate);
  EXPECT_EQ(table.valid_bytes(), 6144U);
}

}  // namespace
}  // namespace isthmus::pages
