// Lanes of warps as threads: the calls that lanes make together are the same for all of a group, and
// what they load and store is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "eviction.cuh"
#include "lanes.hpp"

namespace isthmus::lanes {
namespace {

constexpr std::size_t kUnitBytes = 256;
constexpr std::size_t kNumItems = 32 * kUnitBytes / sizeof(std::uint32_t) + 5;

/// A paged array in plain memory, which begins in the middle of a unit. A budgeted one has frames for
/// a third of its units.
struct PlainMemory {
  PlainMemory() {
    for (std::size_t i = 0; i < kNumItems; i++) host[kLead + i] = std::uint32_t(i * 7);
    map.device = reinterpret_cast<unsigned char*>(device.data());
    map.host = reinterpret_cast<unsigned char*>(host.data());
    map.valid = words[0].data();
    map.busy = words[1].data();
    map.dirty = words[2].data();
    map.settled = words[3].data();
    map.all_settled = &all_settled;
    map.counters = counters.data();
    map.first_byte = kLead * sizeof(std::uint32_t);
    map.end_byte = (kLead + kNumItems) * sizeof(std::uint32_t);
    map.unit_shift = 8;
    map.frames = map.device;
    map.in_place = words[4].data();
    map.used = words[5].data();
    map.named = words[6].data();
    map.frame_of = frame_of.data();
    map.unit_in = unit_in.data();
    map.free_frames = free_frames.data();
    map.clock = &clock;
    map.num_frames = clock.tail = kNumFrames;
    std::iota(free_frames.begin(), free_frames.end(), 0U);
  }
  void flush(bool budgeted) {
    for (unsigned unit = 0; unit < map.num_units(); unit++) {
      if ((words[2][unit / 32] >> (unit % 32) & 1U) == 0) continue;
      const paged::extent own = paged::extent_of(map, unit);
      const unsigned char* held = budgeted ? map.origin(frame_of[unit], unit) : map.device;
      std::memcpy(map.host + own.begin, held + own.begin, own.end - own.begin);
    }
  }

  static constexpr std::size_t kLead = 9;
  static constexpr std::size_t kNumFrames = 11;
  std::vector<std::uint32_t> host = std::vector<std::uint32_t>(kNumItems + 2 * 64);
  std::vector<std::uint32_t> device = std::vector<std::uint32_t>(kNumItems + 2 * 64);
  std::array<std::array<paged::word, 4>, 7> words{};
  std::array<paged::word, 40> frame_of{};
  paged::word all_settled = 0;
  std::array<paged::word, kNumFrames> unit_in{}, free_frames{};
  std::array<paged::number, paged::kNumCounters> counters{};
  budgeted_clock clock{};
  budgeted_map map{};
};

/// Random operations of one lane. Items with even indices are never stored; each other item belongs
/// to one lane.
template <typename Array>
class LaneProgram {
public:
  LaneProgram(PlainMemory& memory, Warp& warp, unsigned lane, Mask scope, unsigned owner,
              unsigned num_owners, unsigned turn)
      : scope_(scope),
        owner_(owner),
        num_owners_(num_owners),
        machine_(warp, lane, scope, num_met_),
        array_(memory.map, machine_),
        random_(owner + 100 * turn) {}

  void run() {
    std::mt19937 kinds(scope_);  // the same for all lanes of a scope
    for (unsigned i = 0; i < 200; i++) {
      const auto kind = unsigned(kinds() % 5);
      if (kind == 0)
        load(random_() % (kNumItems / 2) * 2);
      else if (kind < 3)
        read_span(kind == 1 ? random_() : std::size_t{31} * i);  // of its own, or one for all
      else
        store(kind == 3);
    }
  }

  std::map<std::size_t, std::uint32_t> stored;
  unsigned wrong = 0;

private:
  /// All lanes of the scope do this together.
  template <typename Operation>
  auto together(const Operation& operation) {
    num_met_ = 0;
    const auto result = operation();
    machine_.leave_before(kMeetings);
    return result;
  }
  void load(std::size_t item) {
    wrong += together([&] { return array_.load(item); }) != item * 7;
  }
  void read_span(std::size_t seed) {
    const std::size_t length = 1 + seed % 200, first = seed % (kNumItems - length);
    auto items = together([&] { return array_.span(first, length); });
    for (std::size_t i = first + first % 2; i < first + length; i += 2)
      wrong += items[i - first] != i * 7;
  }
  void store(bool by_span) {
    const std::size_t rows = kNumItems / (2 * num_owners_);
    const std::size_t own = (random_() % rows * num_owners_ + owner_) * 2 + 1;
    const auto value = std::uint32_t(random_());
    if (by_span)
      together([&] { return array_.writable(own, 1); })[0] = value;
    else
      together([&] { return array_.store(own, value), 0; });
    stored[own] = value;
    wrong += together([&] { return array_.load(own); }) != value;
  }

  const Mask scope_;
  const unsigned owner_, num_owners_;
  unsigned num_met_ = 0;
  LaneMachine machine_;
  Array array_;
  std::mt19937 random_;
};

/// Runs a function for each lane of a warp's scopes as a thread.
class Launch {
public:
  template <typename Function>
  void add(const Function& function) {
    threads_.emplace_back([function] {
      try {
        function();
      } catch (const Apart&) {  // NOLINT(bugprone-empty-catch): the warp has noted it
      }
    });
  }
  ~Launch() {
    for (std::thread& thread : threads_) thread.join();
  }

private:
  std::vector<std::thread> threads_;
};

/// What the host's side launches between kernels: the clock frees frames, by two warps. Units in
/// `named`, of the first 32, will be asked for next.
void sweep(PlainMemory& memory, std::uint32_t named = 0) {
  paged::word* const settled = memory.words[3].data();
  unsigned num_met = 0;
  Warp alone;
  const LaneMachine first(alone, 0, 1, num_met);
  for (paged::number i = 0; i < memory.words[0].size(); i++)
    paged::settle_word(first, memory.map, settled, i);
  paged::begin_sweep(first, memory.map, paged::frames_of_round(memory.map, kLanes));
  memory.words[6][0] = named & memory.words[0][0];
  memory.clock.announced = paged::number(std::popcount(named & ~memory.words[0][0]));
  constexpr Mask kAll = (1U << kLanes) - 1;
  std::array<Warp, 2> warps;
  {
    Launch launch;
    for (Warp& warp : warps)
      for (unsigned lane = 0; lane < kLanes; lane++)
        launch.add([&memory, &warp, lane, settled] {
          unsigned num_met = 0;
          paged::sweep(LaneMachine(warp, lane, kAll, num_met), memory.map, settled, kAll);
        });
  }
  for (Warp& warp : warps) EXPECT_EQ(warp.failure(), "");
}

/// Each frame has a unit, or is free, once.
void expect_frames(const PlainMemory& memory) {
  std::vector<paged::word> frames;
  for (unsigned unit = 0; unit < memory.map.num_units(); unit++) {
    const std::uint32_t bit = 1U << (unit % 32);
    if ((memory.words[0][unit / 32] & ~memory.words[4][unit / 32] & bit) == 0) continue;
    frames.push_back(memory.frame_of[unit]);
    EXPECT_EQ(memory.unit_in[frames.back()], unit);
  }
  for (paged::number i = memory.clock.head; i < memory.clock.tail; i++)
    frames.push_back(memory.free_frames[i % PlainMemory::kNumFrames]);
  std::ranges::sort(frames);
  std::vector<paged::word> all(PlainMemory::kNumFrames);
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_EQ(frames, all);
}

using Scopes = std::vector<std::vector<Mask>>;

/// Runs warps of several scopes once: the lanes of a scope run together, scopes don't. Gives what
/// they stored.
template <typename Array>
std::map<std::size_t, std::uint32_t> launched(PlainMemory& memory, const Scopes& scopes_of_warps,
                                              unsigned turn) {
  std::vector<Warp> warps(scopes_of_warps.size());
  std::vector<std::unique_ptr<LaneProgram<Array>>> programs;
  {
    Launch launch;
    for (unsigned warp = 0; warp < warps.size(); warp++)
      for (const Mask scope : scopes_of_warps[warp])
        for (unsigned lane = 0; lane < kLanes; lane++) {
          if ((scope >> lane & 1U) == 0) continue;
          programs.push_back(std::make_unique<LaneProgram<Array>>(
              memory, warps[warp], lane, scope, warp * kLanes + lane,
              unsigned(warps.size() * kLanes), turn));
          launch.add([program = programs.back().get()] { program->run(); });
        }
  }
  std::map<std::size_t, std::uint32_t> stored;
  for (const auto& program : programs) {
    EXPECT_EQ(program->wrong, 0U);
    stored.insert(program->stored.begin(), program->stored.end());
  }
  for (Warp& warp : warps) EXPECT_EQ(warp.failure(), "");
  return stored;
}

void expect_right(const Scopes& scopes) {
  PlainMemory whole;
  const auto stored = launched<paged_array<std::uint32_t, LaneMachine>>(whole, scopes, 0);
  whole.flush(false);
  for (const auto& [item, value] : stored) EXPECT_EQ(whole.host[PlainMemory::kLead + item], value);

  PlainMemory part;
  std::map<std::size_t, std::uint32_t> last;
  for (unsigned turn = 0; turn < 4; turn++) {
    for (const auto& [item, value] :
         launched<budgeted_array<std::uint32_t, LaneMachine>>(part, scopes, turn))
      last[item] = value;
    EXPECT_GT(part.counters[paged::kInPlace], 0U);
    sweep(part);
    expect_frames(part);
  }
  EXPECT_GT(part.counters[paged::kEvicted], 0U);
  part.flush(true);
  for (const auto& [item, value] : last) EXPECT_EQ(part.host[PlainMemory::kLead + item], value);
}

TEST(Lanes, ThatSweepFreeNoUnitWhichIsNamed) {
  PlainMemory memory;
  launched<budgeted_array<std::uint32_t, LaneMachine>>(memory, {{0xF}, {0xF}}, 0);
  const std::uint32_t held = memory.words[0][0] & ~memory.words[4][0];
  ASSERT_EQ(std::popcount(held), int(PlainMemory::kNumFrames));
  std::uint32_t named = ~held;
  for (std::uint32_t left = held, num = 0; num < 3; left &= left - 1, num++)
    named |= left & (~left + 1);
  sweep(memory, named);
  EXPECT_EQ(memory.words[0][0], held & named);
  expect_frames(memory);
}

TEST(Lanes, OfTwoWholeWarpsLoadAndStoreWhatIsThere) { expect_right({{0xF}, {0xF}}); }

TEST(Lanes, OfWarpsThatWentDifferentWaysDoToo) { expect_right({{0x9, 0x6}, {0x7, 0x8}}); }

TEST(Lanes, OfAWarpThatIsNotWholeDoToo) { expect_right({{0x5}, {0xF}, {0x2}}); }

TEST(Lanes, ForWhichTheRestOfALargeUnitComesAlongDoToo) {
  PlainMemory memory;
  memory.map.parts_shift = 2;
  const Scopes scopes{{0x9, 0x6}, {0xF}, {0x2}};
  const auto stored = launched<paged_array<std::uint32_t, LaneMachine>>(memory, scopes, 0);
  memory.flush(false);
  for (const auto& [item, value] : stored) EXPECT_EQ(memory.host[PlainMemory::kLead + item], value);
  EXPECT_EQ(memory.words[0], memory.words[1]) << "a unit that was claimed isn't there";
}

/// Counts the atomic operations on the words of dirty units.
class CountingMachine : public LaneMachine {
public:
  CountingMachine(const LaneMachine& machine, const paged::word* dirty, std::atomic<int>& count)
      : LaneMachine(machine), dirty_(dirty), count_(&count) {}
  word or_relaxed(word* at, word bits) const {
    if (at == dirty_) ++*count_;
    return LaneMachine::or_relaxed(at, bits);
  }

private:
  const paged::word* dirty_;
  std::atomic<int>* count_;
};

/// Lets each lane of a warp store one item. Gives how often a lane noted a dirty unit.
template <template <typename, typename> typename Array>
int notes_of(const std::array<std::size_t, kLanes>& items) {
  PlainMemory memory;
  Warp warp;
  std::atomic<int> count = 0;
  {
    Launch launch;
    for (unsigned lane = 0; lane < kLanes; lane++)
      launch.add([&, lane] {
        unsigned num_met = 0;
        const LaneMachine machine(warp, lane, (1U << kLanes) - 1, num_met);
        Array<std::uint32_t, CountingMachine> array(
            memory.map, CountingMachine(machine, memory.map.dirty, count));
        array.store(items[lane], 1);
      });
  }
  EXPECT_EQ(warp.failure(), "");
  return count;
}

TEST(Lanes, ThatStoreToOneUnitNoteItOnce) {
  EXPECT_EQ(notes_of<paged_array>({1, 2, 3, 4}), 1);
  EXPECT_EQ(notes_of<budgeted_array>({1, 2, 3, 4}), 1);
  constexpr std::size_t kUnitItems = kUnitBytes / sizeof(std::uint32_t);
  EXPECT_EQ(notes_of<paged_array>({1, kUnitItems, 2, kUnitItems + 1}), 2);
  EXPECT_EQ(notes_of<budgeted_array>({1, kUnitItems, 2, kUnitItems + 1}), 2);
}

TEST(Lanes, ThatMakeDifferentCallsTogetherAreFound) {
  Warp warp;
  std::thread other([&] { EXPECT_THROW(warp.exchange(0x3, 1, "ballot", 0), Apart); });
  EXPECT_THROW(warp.exchange(0x3, 0, "sync", 0), Apart);
  other.join();
  EXPECT_NE(warp.failure(), "");
}

}  // namespace
}  // namespace isthmus::lanes
