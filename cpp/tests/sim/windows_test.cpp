// The memory that a simulation uses for a trace: CTAs in windows, whatever their size, and the map
// from lines to migrations.
#include <gtest/gtest.h>

#include <isthmus/errors.hpp>
#include <random>
#include <vector>

#include "pages/policy_names.hpp"
#include "random_programs.hpp"
#include "sim/cores/cta_feed.hpp"
#include "sim/migration/residency.hpp"
#include "stored_programs.hpp"

namespace isthmus::sim {
namespace {

using namespace small;

constexpr std::uint32_t kCores = 132;
constexpr std::uint32_t kSlots = 32;  // on each core: a CTA's share is 15.5 KB
const CtaPlace kPlace{3, 5, kCores, kSlots};

/// A CTA of two warps with `num_operations` operations of up to 32 lines, some of them local.
std::shared_ptr<const trace::Recording> one_cta(std::size_t num_operations) {
  std::mt19937_64 generator(num_operations);
  std::vector<WarpSteps> warps(2);
  for (WarpSteps& warp : warps) {
    for (std::size_t i = 0; i < num_operations; ++i) {
      const auto compute = static_cast<std::uint32_t>(generator() % 50);
      if (generator() % 5 == 0) {
        warp.push_back({OpKind::local_store, compute, {generator() % 64}});
      } else {
        std::vector<std::uint64_t> lines(1 + generator() % 32);
        for (std::uint64_t& line : lines) line = generator() % 10'000'000;
        warp.push_back(load(lines, compute));
      }
    }
  }
  return Builder().launch({}, {warps}).recording();
}

struct Fed {
  explicit Fed(trace::Source& source) : map(ModelledMachine(), 4096), feed(source, map, [] {}) {
    feed.next(0, kPlace, work);
  }
  AddressMap map;
  CtaFeed feed;
  CtaWork work;
};

/// All operations of a warp, and the maximum number of bytes that its CTA held meanwhile.
struct Walked {
  std::vector<Operation> operations;
  std::vector<std::uint64_t> lines;
  std::size_t max_held_bytes = 0;
};

Walked walk(Fed& fed, std::uint32_t warp) {
  Walked walked;
  WarpWork at = fed.feed.begin(fed.work, warp);
  for (;; ++at.operation) {
    if (at.operation->ends_window) at = fed.feed.next_window(fed.work, warp);
    walked.max_held_bytes = std::max(walked.max_held_bytes, fed.work.held_bytes());
    for (std::uint32_t line = at.operation->first_line; line < at.operation[1].first_line; ++line) {
      walked.lines.push_back(at.lines[line].bits);
    }
    walked.operations.push_back(*at.operation);
    if (at.operation->kind == OpKind::end) return walked;
  }
}

TEST(ALargeCta, IsTheSameInWindowsAsWhole) {
  const auto recording = one_cta(1000);
  trace::Replay replay(recording);
  StoredReplay stored(recording);
  Fed whole(replay);
  Fed windows(stored);
  EXPECT_EQ(whole.map.num_chunks(), windows.map.num_chunks());  // known before any window is read
  for (std::uint32_t warp = 0; warp < 2; ++warp) {
    const Walked expected = walk(whole, warp);
    const Walked found = walk(windows, warp);
    EXPECT_EQ(found.lines, expected.lines);
    ASSERT_EQ(found.operations.size(), expected.operations.size());
    for (std::size_t i = 0; i < found.operations.size(); ++i) {
      EXPECT_EQ(found.operations[i].compute, expected.operations[i].compute);
      EXPECT_EQ(found.operations[i].kind, expected.operations[i].kind);
    }
  }
  EXPECT_GT(stored.num_reads(), 0U);
}

TEST(ALargeCta, IsHeldInTheSameFewBytesWhateverItsSize) {
  const std::size_t most = CtaFeed::max_held_bytes(kCores, kSlots);
  for (const std::size_t num_operations : {500, 5000, 50'000}) {
    StoredReplay stored(one_cta(num_operations));
    Fed fed(stored);
    EXPECT_LE(walk(fed, 0).max_held_bytes, most) << num_operations << " operations";
    EXPECT_LE(walk(fed, 1).max_held_bytes, most) << num_operations << " operations";
  }
}

TEST(ALargeCta, IsHeldWholeIfItsTraceCannotBeReadAgain) {
  trace::Replay replay(one_cta(5000));
  Fed fed(replay);
  EXPECT_GE(fed.work.held_bytes(), 10'000 * sizeof(Operation));
}

TEST(ASmallCta, IsNotReadAgain) {
  StoredReplay stored(one_cta(20));
  Fed fed(stored);
  walk(fed, 0);
  EXPECT_EQ(stored.num_reads(), 0U);
}

TEST(AnOperation, HasAWindowOfItsOwnIfItHasMoreLinesThanOne) {
  std::vector<std::uint64_t> lines(3 * CtaFeed::kWindowLines);
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i] = i * 7;
  const WarpSteps steps(10, load(lines));
  const auto recording = Builder().launch({}, {{steps}}).recording();
  trace::Replay replay(recording);
  StoredReplay stored(recording);
  Fed whole(replay);
  Fed windows(stored);
  EXPECT_EQ(walk(windows, 0).lines, walk(whole, 0).lines);
  EXPECT_GT(stored.num_reads(), 0U);
}

TEST(ATrace, ThatWasChangedMeanwhileIsRefused) {
  const auto recording = one_cta(1000);
  StoredReplay stored(recording);
  Fed fed(stored);
  fed.work.windows[0].next_operation = fed.work.windows[0].end_operation;  // there was no end
  EXPECT_THROW(fed.feed.next_window(fed.work, 0), UsageError);
  fed.work.stored.line_begin_offset = fed.work.stored.lines_offset;  // decreasing offsets
  EXPECT_THROW(fed.feed.next_window(fed.work, 1), UsageError);
}

TEST(ASimulation, HasTheSameResultsInWindowsAsWhole) {
  // 64 x 1364 CTAs could run at once: each may hold 768 bytes.
  ModelledMachine machine = two_core_machine();
  machine.cores.count = 64;
  machine.cores.max_warps = 4092;
  machine.cores.max_ctas = 1364;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto recording = random_program(seed).builder.recording();
    trace::Replay replay(recording);
    StoredReplay stored(recording);
    const auto policy = pages::default_policy(pages::PolicyKind::ranges);
    const Result whole = simulate(machine, policy, {}, replay, nullptr);
    const Result windows = simulate(machine, policy, {}, stored, nullptr);
    EXPECT_EQ(windows.event_digest, whole.event_digest);
    EXPECT_EQ(windows.total_ps, whole.total_ps);
    EXPECT_EQ(windows.line_requests, whole.line_requests);
    EXPECT_GT(stored.num_reads(), 0U);
  }
}

TEST(TheMigrationMap, AgreesWithAPlainArray) {
  constexpr std::uint32_t kLines = 4096;
  std::mt19937_64 generator(5);
  MigrationMap map;
  std::vector<std::uint32_t> plain(kLines, MigrationMap::kNone);
  for (int step = 0; step < 20'000; ++step) {
    const auto first = static_cast<std::uint32_t>(generator() % kLines);
    const auto count = static_cast<std::uint32_t>(1 + generator() % std::min(600U, kLines - first));
    const auto migration = static_cast<std::uint32_t>(generator() % 6);
    const auto begin = plain.begin() + first;
    if (generator() % 2 == 0) {
      map.set(first, count, migration);
      std::fill(begin, begin + count, migration);
    } else {
      map.clear(first, count, migration);
      std::replace(begin, begin + count, migration, MigrationMap::kNone);
    }
    const auto line = static_cast<std::uint32_t>(generator() % kLines);
    ASSERT_EQ(map.at(line), plain[line]);
  }
  for (std::uint32_t line = 0; line < kLines; ++line) EXPECT_EQ(map.at(line), plain[line]);
}

TEST(TheMigrationMap, HoldsWhatIsUnderWayHoweverMuchHasBeen) {
  MigrationMap map;
  constexpr std::uint32_t kLength = 64;
  constexpr std::uint32_t kUnderWay = 4;
  for (std::uint32_t index = 0; index < 100'000; ++index) {
    map.set(index * kLength, kLength, index);
    if (index >= kUnderWay) map.clear((index - kUnderWay) * kLength, kLength, index - kUnderWay);
  }
  EXPECT_LE(map.held_bytes(), std::size_t{16} * 1024);
}

}  // namespace
}  // namespace isthmus::sim
