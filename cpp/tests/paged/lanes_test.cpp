// Lanes of warps as threads: the calls that lanes make together are the same for all of a group, and
// what they load and store is right.
#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <isthmus/budgeted_array.cuh>

namespace isthmus {
namespace {

constexpr unsigned kLanes = 4;
constexpr std::size_t kUnitBytes = 256;
constexpr std::size_t kNumItems = 32 * kUnitBytes / sizeof(std::uint32_t) + 5;
using Mask = unsigned;

struct Apart {};

/// Where lanes of one warp meet: for a call of a group, and to find out who is in a group.
class Warp {
public:
  /// Lanes of `scope` that make this call rather than leave() are a group: its mask.
  Mask gather(Mask scope, unsigned lane) { return arrive(scope, lane, true); }
  void leave(Mask scope, unsigned lane) { arrive(scope, lane, false); }

  /// What all lanes of `mask` gave to the same call.
  std::array<std::uint64_t, kLanes> exchange(Mask mask, unsigned lane, const std::string& call,
                                             std::uint64_t value) {
    std::unique_lock lock(mutex_);
    Meeting& meeting = meetings_[mask];
    const std::uint64_t turn = meeting.turn;
    if (meeting.come == 0) meeting.call = call;
    if (meeting.call != call) {
      failure_ = meeting.call + " beside " + call;
      met_.notify_all();
    }
    meeting.values[lane] = value;
    meeting.come |= 1U << lane;
    if (meeting.come == mask) {
      meeting.result = meeting.values;
      meeting.come = 0;
      meeting.turn++;
      met_.notify_all();
    }
    wait(lock, meeting.turn, turn);
    return meeting.result;
  }

  std::string failure() {
    const std::scoped_lock lock(mutex_);
    return failure_;
  }

private:
  struct Meeting {
    std::uint64_t turn = 0;
    Mask come = 0;
    std::string call;
    std::array<std::uint64_t, kLanes> values{}, result{};
  };
  struct Scope {
    std::uint64_t turn = 0;
    Mask come = 0, group = 0, last_group = 0;
  };

  Mask arrive(Mask scope, unsigned lane, bool stays) {
    std::unique_lock lock(mutex_);
    Scope& own = scopes_[scope];
    const std::uint64_t turn = own.turn;
    own.come |= 1U << lane;
    if (stays) own.group |= 1U << lane;
    if (own.come == scope) {
      own.last_group = own.group;
      own.come = own.group = 0;
      own.turn++;
      met_.notify_all();
    }
    wait(lock, own.turn, turn);
    return own.last_group;
  }

  /// Throws Apart in all lanes once two of a group have made different calls: they wait for ever.
  void wait(std::unique_lock<std::mutex>& lock, const std::uint64_t& now, std::uint64_t turn) {
    met_.wait(lock, [&] { return now != turn || !failure_.empty(); });
    if (!failure_.empty()) throw Apart{};
  }

  std::mutex mutex_;
  std::condition_variable met_;
  std::map<Mask, Meeting> meetings_;
  std::map<Mask, Scope> scopes_;
  std::string failure_;
};

/// One lane of a warp. Of `scope`, all lanes make the same operation at the same time.
class LaneMachine {
public:
  using lanes = Mask;
  using word = paged::word;
  using number = paged::number;
  using unit_number = paged::unit_number;

  LaneMachine(Warp& warp, unsigned lane, Mask scope, bool& met)
      : warp_(&warp), lane_(lane), scope_(scope), met_(&met) {}

  lanes together() const {
    *met_ = true;
    return warp_->gather(scope_, lane_);
  }
  unsigned lane() const { return lane_; }
  static unsigned count(lanes mask) { return unsigned(__builtin_popcount(mask)); }
  static unsigned lowest(lanes mask) { return unsigned(__builtin_ctz(mask)); }
  unsigned rank(lanes mask) const { return count(mask & ((1U << lane_) - 1U)); }
  lanes ballot(lanes mask, bool value) const {
    const auto values = warp_->exchange(mask, lane_, "ballot", value);
    lanes set = 0;
    for (unsigned i = 0; i < kLanes; i++)
      if ((mask >> i & 1U) != 0 && values[i] != 0) set |= 1U << i;
    return set;
  }
  unit_number from_lane(lanes mask, unit_number value, unsigned lane) const {
    return unit_number(warp_->exchange(mask, lane_, "from_lane", value)[lane]);
  }
  lanes alike(lanes mask, unit_number value) const {
    const auto values = warp_->exchange(mask, lane_, "alike", value);
    lanes same = 0;
    for (unsigned i = 0; i < kLanes; i++)
      if ((mask >> i & 1U) != 0 && values[i] == value) same |= 1U << i;
    return same;
  }
  void sync(lanes mask) const { warp_->exchange(mask, lane_, "sync", 0); }

  static word settled(const word* at) { return *at; }
  static word acquire(const word* at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
  static word relaxed(const word* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
  static word or_relaxed(word* at, word bits) {
    return __atomic_fetch_or(at, bits, __ATOMIC_RELAXED);
  }
  static void or_release(word* at, word bits) { __atomic_fetch_or(at, bits, __ATOMIC_RELEASE); }
  static void add(number* at, number increment) {
    __atomic_fetch_add(at, increment, __ATOMIC_RELAXED);
  }
  void await(lanes mask, bool missing, const word* at, word bit) const {
    while (missing && (acquire(at) & bit) == 0) std::this_thread::yield();
    sync(mask);
  }
  template <typename T>
  static T read(const T* at) {
    return *at;
  }
  template <typename T>
  static void write(T* at, T value) {
    *at = value;
  }
  void fetch(const paged_map& map, lanes mask, lanes chosen, unit_number unit) const {
    copy(map, mask, chosen, unit, map.device);
  }
  void bring(const budgeted_map& map, lanes mask, lanes chosen, unit_number unit,
             word frame) const {
    copy(map, mask, chosen, unit, map.origin(frame, unit));
  }
  static number take(number* at, number count) {
    return __atomic_fetch_add(at, count, __ATOMIC_RELAXED);
  }
  template <typename Value>
  static Value plain(const Value* at) {
    return *at;
  }
  static void set(word* at, word value) { *at = value; }
  static void note_in_place(const void*, number) {}

private:
  void copy(const paged_map& map, lanes mask, lanes chosen, unit_number unit,
            unsigned char* target) const {
    warp_->exchange(mask, lane_, "copy", chosen);
    if ((chosen >> lane_ & 1U) == 0) return;
    const paged::extent own = paged::extent_of(map, unit);
    std::memcpy(target + own.begin, map.host + own.begin, own.end - own.begin);
  }

  Warp* warp_;
  unsigned lane_;
  Mask scope_;
  bool* met_;
};

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
    map.counters = counters.data();
    map.first_byte = kLead * sizeof(std::uint32_t);
    map.end_byte = (kLead + kNumItems) * sizeof(std::uint32_t);
    map.unit_shift = 8;
    map.frames = map.device;
    map.in_place = words[4].data();
    map.used = words[5].data();
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
  std::array<std::array<paged::word, 4>, 6> words{};
  std::array<paged::word, 40> frame_of{};
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
              unsigned num_owners)
      : warp_(warp),
        lane_(lane),
        scope_(scope),
        owner_(owner),
        num_owners_(num_owners),
        array_(memory.map, LaneMachine(warp, lane, scope, met_)),
        random_(owner) {}

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
    met_ = false;
    const auto result = operation();
    if (!met_) warp_.leave(scope_, lane_);
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

  Warp& warp_;
  const unsigned lane_;
  const Mask scope_;
  const unsigned owner_, num_owners_;
  bool met_ = false;
  Array array_;
  std::mt19937 random_;
};

/// Runs warps of several scopes: the lanes of a scope run together, scopes don't.
template <typename Array>
void expect_right_for(bool budgeted, const std::vector<std::vector<Mask>>& scopes_of_warps) {
  PlainMemory memory;
  std::vector<Warp> warps(scopes_of_warps.size());
  std::vector<std::unique_ptr<LaneProgram<Array>>> programs;
  for (unsigned warp = 0; warp < warps.size(); warp++)
    for (const Mask scope : scopes_of_warps[warp])
      for (unsigned lane = 0; lane < kLanes; lane++)
        if ((scope >> lane & 1U) != 0)
          programs.push_back(std::make_unique<LaneProgram<Array>>(memory, warps[warp], lane, scope,
                                                                  warp * kLanes + lane,
                                                                  unsigned(warps.size() * kLanes)));
  std::vector<std::thread> threads;
  for (const auto& program : programs)
    threads.emplace_back([&program] {
      try {
        program->run();
      } catch (const Apart&) {  // NOLINT(bugprone-empty-catch): the warp has noted it
      }
    });
  for (std::thread& thread : threads) thread.join();
  memory.flush(budgeted);
  for (const auto& program : programs) {
    EXPECT_EQ(program->wrong, 0U);
    for (const auto& [item, value] : program->stored)
      EXPECT_EQ(memory.host[PlainMemory::kLead + item], value);
  }
  for (Warp& warp : warps) EXPECT_EQ(warp.failure(), "");
  EXPECT_EQ(memory.counters[paged::kInPlace] > 0, budgeted);
}

void expect_right(const std::vector<std::vector<Mask>>& scopes_of_warps) {
  expect_right_for<paged_array<std::uint32_t, LaneMachine>>(false, scopes_of_warps);
  expect_right_for<budgeted_array<std::uint32_t, LaneMachine>>(true, scopes_of_warps);
}

TEST(Lanes, OfTwoWholeWarpsLoadAndStoreWhatIsThere) { expect_right({{0xF}, {0xF}}); }

TEST(Lanes, OfWarpsThatWentDifferentWaysDoToo) { expect_right({{0x9, 0x6}, {0x7, 0x8}}); }

TEST(Lanes, OfAWarpThatIsNotWholeDoToo) { expect_right({{0x5}, {0xF}, {0x2}}); }

TEST(Lanes, ThatMakeDifferentCallsTogetherAreFound) {
  Warp warp;
  std::thread other([&] { EXPECT_THROW(warp.exchange(0x3, 1, "ballot", 0), Apart); });
  EXPECT_THROW(warp.exchange(0x3, 0, "sync", 0), Apart);
  other.join();
  EXPECT_NE(warp.failure(), "");
}

}  // namespace
}  // namespace isthmus
