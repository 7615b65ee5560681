#include "workloads/recording/warp.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "one_cta.hpp"
#include "workloads/recording/heap.hpp"

namespace isthmus::workloads {
namespace {

using testing::run_cta;
using testing::run_warp;
using Kinds = std::vector<std::uint8_t>;
using Numbers = std::vector<std::uint32_t>;
using Addresses = std::vector<std::uint64_t>;

constexpr std::uint64_t kFirstLine = Heap::kFirstAddress / trace::kLineBytes;

std::uint8_t number(OpKind kind) { return static_cast<std::uint8_t>(kind); }

class WarpTest : public ::testing::Test {
protected:
  WarpTest() : words(heap.allocate<std::uint32_t>("words", 4096)) {
    for (std::uint32_t i = 0; i < 4096; ++i) words.values[i] = i * i;
  }

  /// The lines of a load with an index for each lane.
  template <class Index>
  Addresses lines_of_load(Index index) {
    const WarpLog log =
        run_warp([&](Warp& warp) { warp.load(words, warp.map(index, warp.thread())); });
    Addresses lines = log.lines();
    for (std::uint64_t& line : lines) line -= kFirstLine;
    return lines;
  }

  Heap heap;
  Array<std::uint32_t> words;
};

TEST_F(WarpTest, ALoadGivesEachLaneItsElement) {
  run_warp([&](Warp& warp) {
    const Lanes<std::uint32_t> loaded = warp.load(words, warp.thread() * 3);
    for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) EXPECT_EQ(loaded[lane], 9 * lane * lane);
  });
}

TEST_F(WarpTest, LanesThatAskForNeighboursAskForOneLine) {
  EXPECT_EQ(lines_of_load([](std::uint32_t lane) { return 64 + lane; }), Addresses{2});
}

TEST_F(WarpTest, LanesAcrossALinesEndAskForTwo) {
  EXPECT_EQ(lines_of_load([](std::uint32_t lane) { return 31 + lane; }), (Addresses{0, 1}));
}

TEST_F(WarpTest, LinesAreInTheOrderOfTheFirstLaneThatAsks) {
  EXPECT_EQ(lines_of_load([](std::uint32_t lane) { return lane % 2 == 0 ? 320U : 64U + lane; }),
            (Addresses{10, 2}));
}

TEST_F(WarpTest, EveryLaneCanAskForALineOfItsOwn) {
  Addresses expected;
  for (std::uint64_t lane = 0; lane < kNumLanes; ++lane) expected.push_back(31 - lane);
  EXPECT_EQ(lines_of_load([](std::uint32_t lane) { return (31 - lane) * 32; }), expected);
}

TEST_F(WarpTest, ElementsOf16BytesOfAllLanesAreFourLines) {
  struct Wide {
    std::uint32_t parts[4];
  };
  const Array<Wide> wide = heap.allocate<Wide>("wide", 64);
  const WarpLog log = run_warp([&](Warp& warp) { warp.load(wide, warp.thread()); });
  EXPECT_EQ(log.lines().size(), 4U);
}

TEST_F(WarpTest, IdleLanesNeitherAskNorStore) {
  const WarpLog log = run_warp([&](Warp& warp) {
    warp.when(warp.thread() >= 30, [&] { warp.store(words, warp.thread() * 32, warp.lanes(7U)); });
  });
  EXPECT_EQ(log.lines(), (Addresses{kFirstLine + 30, kFirstLine + 31}));
  EXPECT_EQ(words.values[30 * 32], 7U);
  EXPECT_NE(words.values[29 * 32], 7U);
}

TEST_F(WarpTest, ABodyWithoutLanesDoesNotRun) {
  const WarpLog log = run_warp([&](Warp& warp) {
    warp.when(warp.thread() > 31, [&] { FAIL(); });
    warp.when(warp.thread() < 32, [] {}, [&] { FAIL(); });
  });
  EXPECT_TRUE(log.kinds().empty());
}

TEST_F(WarpTest, BothSidesOfABranchRunOneAfterTheOther) {
  const WarpLog log = run_warp([&](Warp& warp) {
    warp.when(
        warp.thread() < 8, [&] { warp.load(words, warp.thread()); },
        [&] { warp.store(words, warp.thread(), warp.thread()); });
    warp.load(words, warp.thread());
  });
  EXPECT_EQ(log.kinds(),
            (Kinds{number(OpKind::load), number(OpKind::store), number(OpKind::load)}));
}

TEST_F(WarpTest, ALoopRunsUntilTheLastLaneIsDone) {
  const WarpLog log = run_warp([&](Warp& warp) {
    auto left = warp.thread() % 4;
    auto rounds = warp.lanes(0U);
    warp.loop([&] { return left > 0; },
              [&] {
                warp.compute(10);
                warp.set(rounds, rounds + 1);
                warp.set(left, left - 1);
              });
    for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) EXPECT_EQ(rounds[lane], lane % 4);
    warp.load(words, warp.lanes(0U));
  });
  EXPECT_EQ(log.compute(), Numbers{30});
  // 3, 2 and 1 rounds of 8 lanes each, and the load.
  EXPECT_EQ(log.thread_instructions(), 10U * 8 * (3 + 2 + 1) + 32);
}

TEST_F(WarpTest, NestedConditionsNarrow) {
  run_warp([&](Warp& warp) {
    auto value = warp.lanes(0U);
    warp.when(warp.thread() < 16, [&] {
      warp.when(warp.thread() >= 8, [&] { warp.set(value, 1U); }, [&] { warp.set(value, 2U); });
    });
    for (std::uint32_t lane = 0; lane < kNumLanes; ++lane)
      EXPECT_EQ(value[lane], lane < 8 ? 2U : lane < 16 ? 1U : 0U);
  });
}

TEST_F(WarpTest, ConditionsCombine) {
  run_warp([&](Warp& warp) {
    const Mask low = warp.thread() < 4;
    const Mask odd = warp.thread() % 2 == 1;
    EXPECT_EQ((low & odd).bits, 0b1010U);
    EXPECT_EQ((low & !odd).bits, 0b0101U);
    EXPECT_EQ((low | (warp.thread() == 31)).bits, 0x8000000FU);
    EXPECT_EQ(warp.test([](std::uint32_t lane) { return lane == 9; }, warp.thread()).bits, 512U);
  });
}

TEST_F(WarpTest, AllLanesGetTheSumOfTheActiveOnes) {
  run_warp([&](Warp& warp) {
    EXPECT_EQ(warp.sum_of_lanes(warp.lane())[7], 31U * 32 / 2);
    warp.when(warp.lane() < 4,
              [&] { EXPECT_EQ(warp.sum_of_lanes(warp.lane() + 1)[31], 1U + 2 + 3 + 4); });
  });
}

TEST_F(WarpTest, AtomicsOfOneElementSeeEachOther) {
  words.values[5] = 100;
  run_warp([&](Warp& warp) {
    const auto before = warp.atomic_add(words, warp.lanes(5U), warp.lanes(2U));
    for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) EXPECT_EQ(before[lane], 100 + 2 * lane);
  });
  EXPECT_EQ(words.values[5], 164U);
}

TEST_F(WarpTest, OneLaneWinsAnExchange) {
  words.values[5] = 0;
  run_warp([&](Warp& warp) {
    const auto before =
        warp.atomic_compare_exchange(words, warp.lanes(5U), warp.lanes(0U), warp.thread() + 1);
    EXPECT_EQ((before == 0).bits, 1U);
  });
  EXPECT_EQ(words.values[5], 1U);
}

TEST_F(WarpTest, ComputeGoesBeforeTheNextOperation) {
  const WarpLog log = run_warp([&](Warp& warp) {
    warp.compute(3);
    warp.when(warp.thread() == 0, [&] { warp.compute(4); });
    warp.load(words, warp.thread());
    warp.load(words, warp.thread());
  });
  EXPECT_EQ(log.compute(), (Numbers{7, 0}));
  EXPECT_EQ(log.thread_instructions(), 3U * 32 + 4 + 64);
}

TEST_F(WarpTest, LocalWordsAreCountedOnAcrossArrays) {
  const WarpLog log = run_warp([&](Warp& warp) {
    auto first = warp.local<float, 10>();
    auto second = warp.local<float, 4>();
    warp.store(first, 9, warp.lanes(1.5F));
    warp.store(second, 0, warp.lanes(2.5F));
    EXPECT_EQ(warp.load(first, 9)[31], 1.5F);
    EXPECT_EQ(warp.load(second, 0)[0], 2.5F);
  });
  EXPECT_EQ(log.lines(), (Addresses{9, 10, 9, 10}));
  EXPECT_EQ(log.kinds(), (Kinds{number(OpKind::local_store), number(OpKind::local_store),
                                number(OpKind::local_load), number(OpKind::local_load)}));
}

TEST_F(WarpTest, TheLastWarpOfACtaHasTheLanesThatAreLeft) {
  const std::vector<WarpLog> logs = run_cta(40, [&](Cta& cta) {
    cta.each_warp([&](Warp& warp) { warp.load(words, warp.thread() * 32); });
  });
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_EQ(logs[0].lines().size(), 32U);
  EXPECT_EQ(logs[1].lines().size(), 8U);
  EXPECT_EQ(logs[1].lines()[0], kFirstLine + 32);
}

TEST_F(WarpTest, WarpsMeetAtABarrierAndShareMemory) {
  const std::vector<WarpLog> logs = run_cta(64, [&](Cta& cta) {
    auto* shared = cta.shared<std::uint32_t>(64);
    auto own = cta.per_warp<Lanes<std::uint32_t>>();
    cta.each_warp([&](Warp& warp) {
      warp.write(shared, warp.thread(), warp.thread() * 2);
      own[warp.index()] = warp.thread() + 1000;
    });
    cta.barrier();
    cta.each_warp([&](Warp& warp) {
      const auto opposite = warp.read(shared, 63 - warp.thread());
      EXPECT_EQ(opposite[5], 2 * (63 - 32 * warp.index() - 5));
      EXPECT_EQ(own[warp.index()][5], 1000 + 32 * warp.index() + 5);
    });
  });
  for (const WarpLog& log : logs) EXPECT_EQ(log.kinds(), Kinds{number(OpKind::barrier)});
}

}  // namespace
}  // namespace isthmus::workloads
