// Runs warps of a paged array on the host in every order of their memory operations.
//
// A warp is a function that is run again from its beginning for each of its operations: it is given
// the results of those that it made before, and stops at the next one. States that were seen before
// aren't explored again. Beside the order, what the memory model guarantees is followed: each
// access to plain memory must be ordered with all others of the same memory by release and acquire,
// or it counts as a race. Words that no atomic operation reads or writes are plain memory, too.
//
// A scenario is several launches, one after the other: the end of one orders everything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <isthmus/budgeted_array.cuh>
#include <isthmus/held_array.cuh>

#include "paged_host.cuh"

namespace isthmus::exploration {

/// An item as large as half of the smallest unit: two of them share one.
struct alignas(128) Item {
  std::uint32_t value = 0;
};
inline constexpr unsigned kUnitShift = 8;
inline constexpr std::size_t kNumUnits = 3;
inline constexpr std::size_t kItemsPerUnit = 2;
inline constexpr std::size_t kNumItems = kItemsPerUnit * kNumUnits;
inline constexpr std::size_t kMaxWarps = 3;

/// What is done wrongly, to see that the exploration finds it.
enum class Defect {
  none,
  publish_without_release,
  check_without_acquire,
  publish_before_fetch,
  everybody_wins,
  nobody_publishes,
  a_frame_for_two,        ///< the same frame is given out again
  keep_what_is_missing,   ///< who finds no frame doesn't give back what it has counted
  evict_what_is_kept,     ///< an evicted unit stays valid
  evict_without_sending,  ///< what was stored to an evicted unit isn't written back
  free_a_frame_twice,     ///< two warps that sweep don't notice each other
  forget_a_change,        ///< that the host's memory was stored to isn't noted
  know_too_much,          ///< who has waited for a unit takes all others for valid
  told_without_acquire    ///< who is told that all is held isn't ordered after who found it
};

/// Atomic operations on words, then plain accesses to words, then those of items.
enum class Kind {
  acquire,
  relaxed,
  or_relaxed,
  or_release,
  and_relaxed,
  exchange,
  take,
  await,
  plain,
  set,
  read,
  write,
  fetch,
  bring,
  send,
};

struct Operation {
  Kind kind;
  std::size_t cell = 0;  ///< a word, an item, or a unit
  std::uint32_t value = 0;

  bool operator==(const Operation&) const = default;
};

/// Thrown by the machine where a warp stops.
struct Paused {
  Operation next;
};

using Clock = std::array<std::uint16_t, kMaxWarps>;

/// When each warp last read and wrote memory plainly and atomically, by its own clock.
struct Accesses {
  Clock reads{}, writes{}, atomics{};
};

/// The words: maps of all arrays and of budgeted ones, then the clock's numbers.
inline constexpr std::size_t kValid = 0, kBusy = 1, kDirty = 2, kSettled = 3, kInPlace = 4,
                             kUsed = 5, kNamed = 6, kAllSettled = 7, kChanged = 9, kWhole = 10,
                             kFrameOf = 11, kUnitIn = kFrameOf + kNumUnits,
                             kFreeFrames = kUnitIn + kNumUnits, kClock = kFreeFrames + kNumUnits,
                             kNumClock = sizeof(budgeted_clock) / sizeof(paged::number),
                             kNumWords = kClock + kNumClock;
inline constexpr std::size_t kHead = kClock, kTail = kClock + 1;
/// The items: the device's, which are frames, too, and the host's.
inline constexpr std::size_t kHost = kNumItems, kAllItems = 2 * kNumItems;

/// Everything that decides what can happen next.
struct State {
  std::size_t launch = 0;
  std::array<std::uint32_t, kNumWords> words{};
  std::array<Clock, kNumWords> released{};  ///< what an acquire of the word is ordered after
  std::array<Accesses, kNumWords> word_accesses{};
  std::array<std::uint32_t, kAllItems> items{};
  std::array<Accesses, kAllItems> item_accesses{};
  std::array<Clock, kMaxWarps> clocks{};
  std::array<std::vector<std::uint32_t>, kMaxWarps> results;  ///< of each warp's operations
  std::array<std::uint32_t, kNumUnits> fetches{};
};

struct Scenario;

/// The addresses that a map and a machine share; nothing is stored there.
struct Addresses {
  std::array<paged::word, kClock> words{};
  budgeted_clock clock{};
  std::array<Item, kAllItems> items{};
  std::array<paged::number, paged::kNumCounters> counters{};

  budgeted_map map(const Scenario& scenario) const;
};

/// One warp, which its lanes run together: one lane stands for all.
class Machine : public paged::one_lane {
public:
  using word = paged::word;
  using number = paged::number;
  using unit_number = paged::unit_number;

  /// results     of the operations that the warp has made
  /// num_made    how many of them were given again; counted up
  Machine(const Addresses& addresses, const std::vector<std::uint32_t>& results,
          std::size_t& num_made, Defect defect)
      : addresses_(&addresses), results_(&results), num_made_(&num_made), defect_(defect) {}

  static void add(number*, number) {}
  static void note_in_place(const void*, number) {}

  word settled(const word* at) const { return plain(at); }
  static word glance(const word*) { return 0; }  // as old as it may be
  word acquire(const word* at) const;
  template <typename Value>
  Value relaxed(const Value* at) const {
    return make({Kind::relaxed, cell_of(at)});
  }
  word or_relaxed(word* at, word bits) const;
  void or_release(word* at, word bits) const;
  void and_relaxed(word* at, word bits) const;
  word exchange(word* at, word value) const;
  number take(number* at, number count) const;
  template <typename Value>
  Value plain(const Value* at) const {
    return make({Kind::plain, cell_of(at)});
  }
  template <typename Value>
  void set(Value* at, Value value) const {
    make({Kind::set, cell_of(at), std::uint32_t(value)});
  }
  word await(lanes, bool missing, const word* at, word bit) const {
    const word held = missing ? make({Kind::await, cell_of(at), bit}) : 0;
    return missing && defect_ == Defect::know_too_much ? ~word(0) : held;
  }
  Item read(const Item* at) const { return {make({Kind::read, item_of(at)})}; }
  void write(Item* at, Item item) const { make({Kind::write, item_of(at), item.value}); }
  void fetch(const paged_map&, lanes, lanes, unit_number unit) const { make({Kind::fetch, unit}); }
  void bring(const budgeted_map&, lanes, lanes, unit_number unit, word frame) const {
    make({Kind::bring, unit, frame});
  }
  void send(const budgeted_map&, lanes, lanes, unit_number unit, word frame) const {
    if (defect_ != Defect::evict_without_sending) make({Kind::send, unit, frame});
  }

private:
  std::uint32_t make(const Operation& operation) const;
  std::size_t cell_of(const word* at) const { return std::size_t(at - addresses_->words.data()); }
  std::size_t cell_of(const number* at) const {
    return kClock + std::size_t(at - &addresses_->clock.head);
  }
  std::size_t item_of(const Item* at) const { return std::size_t(at - addresses_->items.data()); }

  const Addresses* addresses_;
  const std::vector<std::uint32_t>* results_;
  std::size_t* num_made_;
  Defect defect_;
};

using Array = paged_array<Item, Machine>;
using BudgetedArray = budgeted_array<Item, Machine>;
using HeldArray = held_array<Item, Machine>;

/// What a warp is given.
struct Warp {
  const Machine& machine;
  const budgeted_map& map;

  Array array() const { return Array(map, machine); }
  BudgetedArray budgeted() const { return BudgetedArray(map, machine); }
  HeldArray held() const {
    const paged_map& same = map;
    return HeldArray(same, machine);
  }
};
/// What a warp does; what it loads, it returns.
using Program = std::function<std::vector<std::uint32_t>(const Warp&)>;

/// Warps that run beside each other, and what each of them must have loaded.
struct Launch {
  std::vector<Program> warps;
  std::vector<std::vector<std::uint32_t>> loaded;
};

/// Units of one granule, and a page of more units than there are.
struct Scenario {
  std::vector<Launch> launches;
  unsigned parts_shift = 0;                         ///< of paged_map
  std::uint32_t valid_before = 0;                   ///< bits of units that are valid, and settled
  std::uint32_t unsettled = 0;                      ///< of them, those that aren't settled
  bool all_settled = false;                         ///< the array knows that all are
  std::size_t num_frames = 0;                       ///< of a budgeted array; all are free before
  std::array<std::uint32_t, kNumItems> host_after;  ///< what the host has after a flush
  bool budgeted = false;
  bool notes_changes = false;  ///< a budgeted array notes where it stores to the host's memory
};

struct Outcome {
  std::size_t num_states = 0;
  std::size_t num_ends = 0;        ///< states in which all launches have ended
  std::set<std::string> failures;  ///< what went wrong, each once
  std::uint32_t most_fetches = 0;  ///< of one unit in one launch
  std::set<std::uint32_t> valid;   ///< bits of valid units, at the end of a launch
};

/// The host's items before: 100, 101, ...
std::array<std::uint32_t, kNumItems> items_before();

/// Loads items, one after the other.
inline Program loads(std::vector<std::size_t> items) {
  return [items = std::move(items)](const Warp& warp) {
    Array array = warp.array();
    std::vector<std::uint32_t> loaded;
    for (const std::size_t item : items) loaded.push_back(array.load(item).value);
    return loaded;
  };
}

/// Stores both items of a unit, which isn't fetched for it.
inline Program overwrites(std::size_t unit, std::uint32_t value) {
  return [=](const Warp& warp) {
    Array array = warp.array();
    const std::size_t first = 2 * unit;
    array.overwrite(first, 2);
    array.store(first, {value});
    array.store(first + 1, {value + 1});
    return std::vector<std::uint32_t>{};
  };
}

/// Which orders of the warps' operations are explored. If no order has a race, plain accesses of
/// different warps can be exchanged: the orders of atomic operations alone have all outcomes. If one
/// has, a race is found, but perhaps not what comes of it.
enum class Orders { all, of_atomics };

Outcome explore(const Scenario& scenario, Defect defect, Orders orders);
/// Explores all orders if there is a defect, else those of atomics.
Outcome explore(const Scenario& scenario, Defect defect = Defect::none);

}  // namespace isthmus::exploration
