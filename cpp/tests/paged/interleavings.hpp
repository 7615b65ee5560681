// Runs warps of a paged array on the host in every order of their memory operations.
//
// A warp is a function that is run again from its beginning for each of its operations: it is given
// the results of those that it made before, and stops at the next one. States that were seen before
// aren't explored again. Beside the order, what the memory model guarantees is followed: each
// access to plain memory must be ordered with all others of the same memory by release and acquire,
// or it counts as a race.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <isthmus/paged_array.cuh>

namespace isthmus::exploration {

/// An item as large as half of the smallest unit: two of them share one.
struct alignas(128) Item {
  std::uint32_t value = 0;
};
inline constexpr unsigned kUnitShift = 8;
inline constexpr std::size_t kNumUnits = 2;
inline constexpr std::size_t kNumItems = 2 * kNumUnits;
inline constexpr std::size_t kMaxWarps = 3;

/// What is done wrongly, to see that the exploration finds it.
enum class Defect {
  none,
  publish_without_release,
  check_without_acquire,
  publish_before_fetch,
  everybody_wins,
  nobody_publishes,
};

enum class Kind { settled, acquire, relaxed, or_relaxed, or_release, await, read, write, fetch };

struct Operation {
  Kind kind;
  std::size_t cell = 0;  ///< a word of the maps, an item, or a unit
  std::uint32_t value = 0;

  bool operator==(const Operation&) const = default;
};

/// Thrown by the machine where a warp stops.
struct Paused {
  Operation next;
};

using Clock = std::array<std::uint16_t, kMaxWarps>;

/// When each warp last read and wrote plain memory, by its own clock.
struct Accesses {
  Clock reads{}, writes{};
  auto operator<=>(const Accesses&) const = default;
};

/// The maps' words: valid, busy, dirty, settled.
inline constexpr std::size_t kValid = 0, kBusy = 1, kDirty = 2, kSettled = 3, kNumWords = 4;

/// Everything that decides what can happen next.
struct State {
  std::array<std::uint32_t, kNumWords> words{};
  std::array<Clock, kNumWords> released{};  ///< what an acquire of the word is ordered after
  std::array<std::uint32_t, kNumItems> device{}, host{};
  std::array<Accesses, kNumItems> device_accesses{};
  std::array<Clock, kMaxWarps> clocks{};
  std::array<std::vector<std::uint32_t>, kMaxWarps> results;  ///< of each warp's operations
  std::array<std::uint32_t, kNumUnits> fetches{};

  auto operator<=>(const State&) const = default;
};

/// The addresses that a map and a machine share; nothing is stored there.
struct Addresses {
  std::array<paged::word, kNumWords> words{};
  std::array<Item, kNumItems> device{}, host{};
  std::array<paged::number, paged::kNumCounters> counters{};

  paged_map map() const;
};

/// One warp, which its lanes run together: one lane stands for all.
class Machine {
public:
  using lanes = unsigned;
  using word = paged::word;
  using number = paged::number;
  using unit_number = paged::unit_number;

  Machine(const Addresses& addresses, const std::vector<std::uint32_t>& results, Defect defect)
      : addresses_(&addresses), results_(&results), defect_(defect) {}

  static lanes together() { return 1; }
  static unsigned lane() { return 0; }
  static unsigned count(lanes mask) { return mask; }
  static unsigned lowest(lanes) { return 0; }
  static unsigned rank(lanes) { return 0; }
  static lanes ballot(lanes, bool value) { return value ? 1 : 0; }
  static unit_number from_lane(lanes, unit_number value, unsigned) { return value; }
  static lanes alike(lanes mask, unit_number) { return mask; }
  static void sync(lanes) {}
  static void add(number*, number) {}

  word settled(const word* at) const { return make({Kind::settled, cell_of(at)}); }
  word acquire(const word* at) const;
  word relaxed(const word* at) const { return make({Kind::relaxed, cell_of(at)}); }
  word or_relaxed(word* at, word bits) const;
  void or_release(word* at, word bits) const;
  void await(lanes, bool missing, const word* at, word bit) const {
    if (missing) make({Kind::await, cell_of(at), bit});
  }
  Item read(const Item* at) const { return {make({Kind::read, item_of(at)})}; }
  void write(Item* at, Item item) const { make({Kind::write, item_of(at), item.value}); }
  void fetch(const paged_map&, lanes, lanes, unit_number unit) const { make({Kind::fetch, unit}); }

private:
  std::uint32_t make(const Operation& operation) const;
  std::size_t cell_of(const word* at) const { return std::size_t(at - addresses_->words.data()); }
  std::size_t item_of(const Item* at) const { return std::size_t(at - addresses_->device.data()); }

  const Addresses* addresses_;
  const std::vector<std::uint32_t>* results_;
  Defect defect_;
  mutable std::size_t num_made_ = 0;
};

using Array = paged_array<Item, Machine>;
/// What a warp does; what it loads, it returns.
using Warp = std::function<std::vector<std::uint32_t>(Array&)>;

struct Scenario {
  std::vector<Warp> warps;
  std::uint32_t valid_before = 0;                   ///< bits of units that are valid, and settled
  std::uint32_t unsettled = 0;                      ///< of them, those that aren't settled
  std::vector<std::vector<std::uint32_t>> loaded;   ///< what each warp must have loaded
  std::array<std::uint32_t, kNumItems> host_after;  ///< what the host has after a flush
};

struct Outcome {
  std::size_t num_states = 0;
  std::size_t num_ends = 0;        ///< states in which all warps have ended
  std::set<std::string> failures;  ///< what went wrong, each once
  std::uint32_t most_fetches = 0;  ///< of one unit in one launch
};

/// The host's items before: 100, 101, ...
std::array<std::uint32_t, kNumItems> items_before();

Outcome explore(const Scenario& scenario, Defect defect = Defect::none);

}  // namespace isthmus::exploration
