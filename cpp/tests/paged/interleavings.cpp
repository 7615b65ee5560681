#include "interleavings.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <optional>
#include <utility>

namespace isthmus::exploration {
namespace {

constexpr std::size_t kItemsPerUnit = kNumItems / kNumUnits;

std::uint32_t bit(std::size_t unit) { return std::uint32_t{1} << unit; }

void join(Clock& clock, const Clock& other) {
  for (std::size_t i = 0; i < kMaxWarps; i++) clock[i] = std::max(clock[i], other[i]);
}

/// Explores one scenario, breadth first.
class Explorer {
public:
  Explorer(const Scenario& scenario, Defect defect) : scenario_(scenario), defect_(defect) {}

  Outcome explore() {
    push(first_state());
    while (!open_.empty()) {
      const State state = open_.front();
      open_.pop_front();
      visit(state);
    }
    outcome_.num_states = seen_.size();
    return outcome_;
  }

private:
  /// What a warp does next; nothing if it has ended, and then what it loaded.
  struct Step {
    std::optional<Operation> next;
    std::vector<std::uint32_t> loaded;
  };

  State first_state() const {
    State state;
    state.host = items_before();
    state.words[kValid] = state.words[kBusy] = scenario_.valid_before;
    state.words[kSettled] = scenario_.valid_before & ~scenario_.unsettled;
    for (std::size_t item = 0; item < kNumItems; item++)
      if ((scenario_.valid_before & bit(item / kItemsPerUnit)) != 0)
        state.device[item] = state.host[item];
    // Warps' clocks begin at 1: at 0 everything is ordered before.
    for (std::size_t warp = 0; warp < scenario_.warps.size(); warp++) state.clocks[warp][warp] = 1;
    return state;
  }

  void push(State state) {
    if (seen_.insert(state).second) open_.push_back(std::move(state));
  }

  Step step_of(const State& state, std::size_t warp) const {
    Array array(map_, Machine(addresses_, state.results[warp], defect_));
    try {
      return {std::nullopt, scenario_.warps[warp](array)};
    } catch (const Paused& paused) {
      return {paused.next, {}};
    }
  }

  void visit(const State& state) {
    std::size_t num_ended = 0, num_able = 0;
    for (std::size_t warp = 0; warp < scenario_.warps.size(); warp++) {
      const Step step = step_of(state, warp);
      if (!step.next) {
        num_ended++;
        require(step.loaded == scenario_.loaded[warp], "a warp loaded what isn't there");
        continue;
      }
      if (!able(state, *step.next)) continue;
      num_able++;
      State after = state;
      after.results[warp].push_back(carry_out(after, warp, *step.next));
      push(std::move(after));
    }
    if (num_ended == scenario_.warps.size()) return end(state);
    require(num_able > 0, "all warps that haven't ended wait");
  }

  static bool able(const State& state, const Operation& operation) {
    return operation.kind != Kind::await || (state.words[operation.cell] & operation.value) != 0;
  }

  /// After the launch the host's side flushes: the launch's end orders everything.
  void end(const State& state) {
    outcome_.num_ends++;
    std::array<std::uint32_t, kNumItems> host = state.host;
    for (std::size_t item = 0; item < kNumItems; item++)
      if ((state.words[kDirty] & bit(item / kItemsPerUnit)) != 0) host[item] = state.device[item];
    require(host == scenario_.host_after, "the host hasn't what was stored");
    require((state.words[kDirty] & ~state.words[kValid]) == 0, "a dirty unit isn't valid");
    require((state.words[kValid] & ~state.words[kBusy]) == 0, "a valid unit wasn't claimed");
    for (const std::uint32_t fetches : state.fetches)
      outcome_.most_fetches = std::max(outcome_.most_fetches, fetches);
  }

  void require(bool holds, const char* failure) {
    if (!holds) outcome_.failures.insert(failure);
  }

  std::uint32_t carry_out(State& state, std::size_t warp, const Operation& operation) {
    const auto [kind, cell, value] = operation;
    state.clocks[warp][warp]++;
    switch (kind) {
      case Kind::settled:
      case Kind::relaxed:
        return state.words[cell];
      case Kind::acquire:
      case Kind::await:
        join(state.clocks[warp], state.released[cell]);
        return state.words[cell];
      case Kind::or_release:
        join(state.released[cell], state.clocks[warp]);
        return std::exchange(state.words[cell], state.words[cell] | value);
      case Kind::or_relaxed:
        return std::exchange(state.words[cell], state.words[cell] | value);
      case Kind::read:
        note_read(state, warp, cell);
        return state.device[cell];
      case Kind::write:
        note_write(state, warp, cell);
        return state.device[cell] = value;
      case Kind::fetch:
        state.fetches[cell]++;
        for (std::size_t i = cell * kItemsPerUnit; i < (cell + 1) * kItemsPerUnit; i++) {
          note_write(state, warp, i);
          state.device[i] = state.host[i];
        }
        return 0;
    }
    return 0;
  }

  /// True if a warp is ordered after all that others did with an item.
  static bool ordered(const State& state, std::size_t warp, const Clock& others) {
    for (std::size_t i = 0; i < kMaxWarps; i++)
      if (others[i] > state.clocks[warp][i]) return false;
    return true;
  }
  void note_read(State& state, std::size_t warp, std::size_t item) {
    require(ordered(state, warp, state.device_accesses[item].writes), "a race");
    state.device_accesses[item].reads[warp] = state.clocks[warp][warp];
  }
  void note_write(State& state, std::size_t warp, std::size_t item) {
    require(ordered(state, warp, state.device_accesses[item].writes), "a race");
    require(ordered(state, warp, state.device_accesses[item].reads), "a race");
    state.device_accesses[item].writes[warp] = state.clocks[warp][warp];
  }

  const Scenario& scenario_;
  const Defect defect_;
  const Addresses addresses_{};
  const paged_map map_ = addresses_.map();
  std::set<State> seen_;
  std::deque<State> open_;
  Outcome outcome_;
};

}  // namespace

paged_map Addresses::map() const {
  const auto bytes = [](const Item* item) {
    return const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(item));
  };
  paged_map map{};
  map.device = bytes(device.data());
  map.host = bytes(host.data());
  map.valid = const_cast<paged::word*>(&words[kValid]);
  map.busy = const_cast<paged::word*>(&words[kBusy]);
  map.dirty = const_cast<paged::word*>(&words[kDirty]);
  map.settled = &words[kSettled];
  map.counters = const_cast<paged::number*>(counters.data());
  map.end_byte = sizeof device;
  map.unit_shift = kUnitShift;
  return map;
}

std::uint32_t Machine::make(const Operation& operation) const {
  if (num_made_ < results_->size()) return (*results_)[num_made_++];
  throw Paused{operation};
}

Machine::word Machine::acquire(const word* at) const {
  const Kind kind = defect_ == Defect::check_without_acquire ? Kind::relaxed : Kind::acquire;
  return make({kind, cell_of(at)});
}

Machine::word Machine::or_relaxed(word* at, word bits) const {
  const std::size_t cell = cell_of(at);
  const word old = make({Kind::or_relaxed, cell, bits});
  if (defect_ == Defect::publish_before_fetch && cell == kBusy)
    make({Kind::or_release, kValid, bits});
  return defect_ == Defect::everybody_wins && cell == kBusy ? 0 : old;
}

void Machine::or_release(word* at, word bits) const {
  if (defect_ == Defect::nobody_publishes) return;
  const bool weak = defect_ == Defect::publish_without_release;
  make({weak ? Kind::or_relaxed : Kind::or_release, cell_of(at), bits});
}

std::array<std::uint32_t, kNumItems> items_before() {
  std::array<std::uint32_t, kNumItems> items{};
  std::iota(items.begin(), items.end(), 100U);
  return items;
}

Outcome explore(const Scenario& scenario, Defect defect) {
  return Explorer(scenario, defect).explore();
}

}  // namespace isthmus::exploration
