#include "pages/eviction.hpp"

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include <string>
#include <vector>

#include "../messages.hpp"
#include "table_steps.hpp"

namespace isthmus::pages {
namespace {

constexpr std::uint32_t kPageBytes = 2U << 20;
constexpr std::uint32_t kBlockBytes = 64U << 10;
constexpr std::uint32_t kNobody = ~std::uint32_t{0};

/// The memory of a GPU with a few pages.
class Memory {
public:
  Memory(PolicyKind kind, const EvictionPolicy& policy)
      : table(default_policy(kind)), eviction(policy, table) {}

  Found plan(std::uint64_t address) {
    Found found = read(table, address);
    for (const Span transfer : found.transfers) eviction.started(found.slot, transfer);
    return found;
  }
  std::uint32_t bring(std::uint64_t address) {
    const Found found = plan(address);
    arrive(table, found);
    return found.slot;
  }
  std::uint32_t bring_page(std::uint64_t number) { return bring(number * kPageBytes); }
  std::vector<Victim> victims(std::uint32_t kept_slot = kNobody) {
    const std::span<const Victim> found = eviction.make_room(kept_slot);
    return {found.begin(), found.end()};
  }

  PageTable table;
  Eviction eviction;
};

EvictionPolicy of(EvictionKind kind, std::uint64_t limit_bytes) {
  EvictionPolicy policy;
  policy.kind = kind;
  policy.limit_bytes = limit_bytes;
  return policy;
}

TEST(Eviction, TakesNothingWhileAllFits) {
  Memory memory(PolicyKind::whole_page, of(EvictionKind::lru, 2 * kPageBytes));
  memory.bring_page(0);
  memory.bring_page(1);
  EXPECT_TRUE(memory.eviction.fits());
  EXPECT_TRUE(memory.victims().empty());
}

TEST(Eviction, TakesThePageThatMovedLongestAgo) {
  Memory memory(PolicyKind::whole_page, of(EvictionKind::lru, 2 * kPageBytes));
  const std::uint32_t first = memory.bring_page(0);
  memory.bring_page(1);
  const std::uint32_t last = memory.bring_page(2);
  const std::vector<Victim> victims = memory.victims(last);
  ASSERT_EQ(victims.size(), 1U);
  EXPECT_EQ(victims[0].slot, first);
  EXPECT_EQ(victims[0].back_bytes, kPageBytes);
  EXPECT_EQ(memory.table.state(first), State::cpu);
  EXPECT_TRUE(memory.eviction.fits());
}

TEST(Eviction, CountsAFurtherTransferAsAUse) {
  Memory memory(PolicyKind::ranges, of(EvictionKind::lru, 2 * kPageBytes));
  memory.bring_page(0);
  const std::uint32_t second = memory.bring_page(1);
  memory.bring(kPageBytes - 1024);
  const std::uint32_t third = memory.bring_page(2);
  EXPECT_EQ(memory.victims(third)[0].slot, second);
  EXPECT_EQ(memory.eviction.framed_bytes(), 2ULL * kPageBytes);
}

TEST(Eviction, CountsAccessesAsUsesOnlyIfToldTo) {
  EvictionPolicy by_access = of(EvictionKind::lru, 2 * kPageBytes);
  by_access.recency = Recency::access;
  for (const auto& policy : {of(EvictionKind::lru, 2 * kPageBytes), by_access}) {
    Memory memory(PolicyKind::whole_page, policy);
    const std::uint32_t first = memory.bring_page(0);
    const std::uint32_t second = memory.bring_page(1);
    if (memory.eviction.wants_accesses()) memory.eviction.used(first, 0);
    memory.bring_page(2);
    const bool by_migration = policy.recency == Recency::migration;
    EXPECT_EQ(memory.victims()[0].slot, by_migration ? first : second);
  }
}

TEST(Eviction, SparesPagesWithTransfersUnderWayAndTheOneThatNeedsTheRoom) {
  Memory memory(PolicyKind::ranges, of(EvictionKind::lru, kPageBytes));
  memory.plan(0);
  const std::uint32_t wanted = memory.bring_page(1);
  EXPECT_TRUE(memory.victims(wanted).empty());
  EXPECT_FALSE(memory.eviction.fits());
}

TEST(Eviction, GivesPartialPagesAWholeFrameAndSendsBackWhatIsValid) {
  Memory memory(PolicyKind::ranges, of(EvictionKind::lru, kPageBytes));
  memory.bring_page(0);
  EXPECT_EQ(memory.eviction.framed_bytes(), kPageBytes);
  const std::uint32_t second = memory.bring_page(1);
  const std::vector<Victim> victims = memory.victims(second);
  ASSERT_EQ(victims.size(), 1U);
  EXPECT_EQ(victims[0].back_bytes, 1024U);
}

TEST(Eviction, ForgetsPagesThatTheCpuTookBack) {
  Memory memory(PolicyKind::whole_page, of(EvictionKind::lru, kPageBytes));
  const std::uint32_t first = memory.bring_page(0);
  memory.table.cpu_request(0);
  memory.eviction.left(first);
  EXPECT_EQ(memory.eviction.framed_bytes(), 0U);
  memory.bring_page(1);
  EXPECT_TRUE(memory.victims().empty());
}

TEST(Eviction, ByBlocksTakesBlocksOfOnePageOneByOne) {
  Memory memory(PolicyKind::block_64k, of(EvictionKind::block_64k, 2 * kBlockBytes));
  memory.bring(0);
  memory.bring(kBlockBytes);
  const std::uint32_t other = memory.bring_page(5);
  const std::vector<Victim> victims = memory.victims(other);
  ASSERT_EQ(victims.size(), 1U);
  EXPECT_EQ(victims[0].part, (Span{0, kBlockBytes}));
  EXPECT_EQ(read(memory.table, kBlockBytes).outcome, Outcome::hit);
  EXPECT_EQ(read(memory.table, 0).outcome, Outcome::migrate);
}

TEST(Eviction, ByTreeTakesTheSubtreeThatHasBecomeSparse) {
  // Blocks 0 and 1 of a page: without 0, [0, 1] is half full and stays, [0..3] isn't.
  Memory memory(PolicyKind::block_64k, of(EvictionKind::tree, 2 * kBlockBytes));
  memory.bring(0);
  memory.bring(kBlockBytes);
  const std::uint32_t other = memory.bring_page(5);
  EXPECT_EQ(memory.victims(other).size(), 2U);
  EXPECT_EQ(memory.eviction.framed_bytes(), kBlockBytes);
}

TEST(Eviction, ByTreeLeavesADensePageButForItsOldestBlock) {
  Memory memory(PolicyKind::block_64k, of(EvictionKind::tree, kPageBytes));
  for (std::uint64_t at = 0; at < kPageBytes; at += kBlockBytes) memory.bring(at);
  const std::uint32_t other = memory.bring_page(5);
  const std::vector<Victim> victims = memory.victims(other);
  ASSERT_EQ(victims.size(), 1U);
  EXPECT_EQ(victims[0].part, (Span{0, kBlockBytes}));
}

TEST(Eviction, ByClockSparesOnceWhatWasUsed) {
  Memory memory(PolicyKind::whole_page, of(EvictionKind::clock, 2 * kPageBytes));
  const std::uint32_t first = memory.bring_page(0);
  const std::uint32_t second = memory.bring_page(1);
  const std::uint32_t third = memory.bring_page(2);
  EXPECT_EQ(memory.victims(third)[0].slot, first) << "all are marked, so the hand comes round";
  memory.eviction.used(second, 0);
  const std::uint32_t fourth = memory.bring_page(3);
  EXPECT_EQ(memory.victims(fourth)[0].slot, third);
}

TEST(Eviction, KeepsWithinItsLimitUnderALongStream) {
  for (const EvictionKind kind : {EvictionKind::lru, EvictionKind::tree, EvictionKind::block_64k,
                                  EvictionKind::clock, EvictionKind::random, EvictionKind::lfu}) {
    Memory memory(PolicyKind::tree, of(kind, 8 * kPageBytes));
    std::uint64_t state = 7;
    for (int step = 0; step < 20000; ++step) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      const std::uint32_t slot = memory.bring((state >> 33) % (64ULL * kPageBytes) & ~127ULL);
      memory.victims(slot);
      ASSERT_TRUE(memory.eviction.fits());
      ASSERT_LE(memory.table.valid_bytes(), memory.eviction.framed_bytes());
    }
  }
}

/// The example of textbooks (Silberschatz, Galvin, Gagne, Operating System Concepts, 10.4).
const std::vector<std::uint64_t> kTextbook = {7, 0, 1, 2, 0, 3, 0, 4, 2, 3,
                                              0, 3, 2, 1, 2, 0, 1, 7, 0, 1};

/// The pages that leave while a sequence of pages is accessed, with room for three.
std::vector<std::uint64_t> leaving(const std::vector<std::uint64_t>& sequence,
                                   EvictionPolicy policy) {
  policy.limit_bytes = 3ULL * kPageBytes;
  Memory memory(PolicyKind::whole_page, policy);
  std::vector<std::uint64_t> left;
  for (const std::uint64_t page : sequence) {
    const std::uint32_t slot = memory.bring_page(page);
    for (const Victim& victim : memory.victims(slot))
      left.push_back(memory.table.page_number(victim.slot));
    if (memory.eviction.wants_accesses()) memory.eviction.used(slot, 0);
  }
  return left;
}

UseOrder order_of(const std::vector<std::uint64_t>& sequence) {
  UseOrder order;
  for (std::uint32_t at = 0; at < sequence.size(); ++at)
    order.positions[sequence[at]].push_back(at);
  return order;
}

TEST(Eviction, WithTheFutureKnownFaultsNineTimesInTheTextbooksExample) {
  const UseOrder order = order_of(kTextbook);
  EvictionPolicy policy = of(EvictionKind::belady, 0);
  policy.order = &order;
  EXPECT_EQ(leaving(kTextbook, policy), (std::vector<std::uint64_t>{7, 1, 0, 4, 3, 2}));
  EvictionPolicy recent = of(EvictionKind::lru, 0);
  recent.recency = Recency::access;
  EXPECT_EQ(leaving(kTextbook, recent).size(), 12U - 3U);
}

TEST(Eviction, RecordsTheOrderThatItNeedsToKnowTheFuture) {
  UseOrder order;
  EvictionPolicy policy = of(EvictionKind::lru, 0);
  policy.record = &order;
  leaving(kTextbook, policy);
  EXPECT_EQ(order.positions, order_of(kTextbook).positions);
}

// A run's launches have other numbers of accesses than the recorded one's.
TEST(Eviction, ForgetsAtALaunchWhatTheOneBeforeItDidntUse) {
  UseOrder order;
  order.positions = {{0, {0, 3, 9}}, {1, {1, 8}}, {2, {2, 7}}};
  order.launches = {0, 7};
  EvictionPolicy policy = of(EvictionKind::belady, 2ULL * kPageBytes);
  policy.order = &order;
  Memory memory(PolicyKind::whole_page, policy);
  memory.eviction.begin_launch();
  const std::uint32_t zero = memory.bring_page(0);
  memory.eviction.used(zero, 0);
  memory.bring_page(1);
  memory.eviction.begin_launch();  // the second use of page 0 never came
  EXPECT_EQ(memory.victims(memory.bring_page(2))[0].slot, zero);
}

TEST(Eviction, ByFrequencyTakesTheLeastAccessedAndOfEqualOnesTheOldest) {
  EXPECT_EQ(leaving({0, 0, 1, 1, 2, 3, 4, 1, 5}, of(EvictionKind::lfu, 0)),
            (std::vector<std::uint64_t>{2, 3, 4}));
  EXPECT_EQ(leaving({0, 1, 2, 3}, of(EvictionKind::lfu, 0)), (std::vector<std::uint64_t>{0}));
}

TEST(Eviction, AtRandomTakesAnyPageAndDrawsTheSameAgain) {
  std::vector<std::uint64_t> sequence;
  for (std::uint64_t page = 0; page < 900; ++page) sequence.push_back(page);
  const std::vector<std::uint64_t> left = leaving(sequence, of(EvictionKind::random, 0));
  EXPECT_EQ(left, leaving(sequence, of(EvictionKind::random, 0)));
  // Of three pages the newest stays; either of the others leaves about as often.
  std::uint64_t oldest = 0;
  for (std::size_t at = 0; at + 1 < left.size(); ++at) oldest += left[at] < left[at + 1] ? 1 : 0;
  EXPECT_GT(oldest, 350U);
  EXPECT_LT(oldest, 850U);
}

std::string refusal(PolicyKind migration, const EvictionPolicy& policy) {
  return test::message_of<UsageError>([&] { Memory memory(migration, policy); });
}

TEST(Eviction, WithInvalidSettingsIsRefused) {
  const std::string small = refusal(PolicyKind::ranges, of(EvictionKind::lru, 4096));
  EXPECT_TRUE(test::says(small, "nothing would fit")) << small;
  const std::string holes = refusal(PolicyKind::ranges, of(EvictionKind::tree, kPageBytes));
  EXPECT_TRUE(test::says(holes, "use lru or clock")) << holes;
  const std::string blind = refusal(PolicyKind::ranges, of(EvictionKind::belady, kPageBytes));
  EXPECT_TRUE(test::says(blind, "the order of the accesses")) << blind;
}

}  // namespace
}  // namespace isthmus::pages
