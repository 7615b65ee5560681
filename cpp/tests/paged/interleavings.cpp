#include "interleavings.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace isthmus::exploration {
namespace {

std::uint32_t bit(std::size_t unit) { return std::uint32_t{1} << unit; }

void join(Clock& clock, const Clock& other) {
  for (std::size_t i = 0; i < kMaxWarps; i++) clock[i] = std::max(clock[i], other[i]);
}

/// 128 bits for a state: that two of some million states have the same is out of the question.
std::pair<std::size_t, std::size_t> digest_of(const State& state) {
  std::string bytes;
  const auto add = [&bytes](const auto& values) {
    bytes.append(reinterpret_cast<const char*>(values.data()),
                 values.size() * sizeof(*values.data()));
  };
  bytes.push_back(char(state.launch));
  add(state.words);
  add(state.released);
  add(state.word_accesses);
  add(state.items);
  add(state.item_accesses);
  add(state.clocks);
  add(state.fetches);
  for (const std::vector<std::uint32_t>& results : state.results) {
    bytes.push_back(char(results.size()));
    add(results);
  }
  const std::size_t first = std::hash<std::string>()(bytes);
  bytes.push_back('.');
  return {first, std::hash<std::string>()(bytes)};
}

/// Explores one scenario, breadth first.
class Explorer {
public:
  Explorer(const Scenario& scenario, Defect defect, Orders orders)
      : scenario_(scenario), defect_(defect), orders_(orders), map_(addresses_.map(scenario)) {}

  Outcome explore() {
    push(first_state());
    while (!open_.empty()) {
      const State state = std::move(open_.front());
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
    std::ranges::copy(items_before(), state.items.begin() + kHost);
    state.words[kValid] = state.words[kBusy] = scenario_.valid_before;
    state.words[kSettled] = scenario_.valid_before & ~scenario_.unsettled;
    state.words[kAllSettled] = scenario_.all_settled ? 1 : 0;
    for (std::size_t item = 0; item < kNumItems; item++)
      if ((scenario_.valid_before & bit(item / kItemsPerUnit)) != 0)
        state.items[item] = state.items[kHost + item];
    for (std::size_t frame = 0; frame < scenario_.num_frames; frame++) {
      state.words[kFreeFrames + frame] = std::uint32_t(frame);
      state.words[kUnitIn + frame] = paged::kNoUnit;
    }
    state.words[kTail] = std::uint32_t(scenario_.num_frames);
    begin_clocks(state);
    return state;
  }

  /// Warps' clocks begin at 1: at 0 everything is ordered before.
  void begin_clocks(State& state) const {
    state.released = {};
    state.word_accesses = {};
    state.item_accesses = {};
    state.clocks = {};
    for (std::size_t warp = 0; warp < launch_of(state).warps.size(); warp++)
      state.clocks[warp][warp] = 1;
  }

  const Launch& launch_of(const State& state) const { return scenario_.launches[state.launch]; }

  void push(State state) {
    if (seen_.insert(digest_of(state)).second) open_.push_back(std::move(state));
  }

  Step step_of(const State& state, std::size_t warp) const {
    std::size_t num_made = 0;
    const Machine machine(addresses_, state.results[warp], num_made, defect_);
    try {
      return {std::nullopt, launch_of(state).warps[warp]({machine, map_})};
    } catch (const Paused& paused) {
      return {paused.next, {}};
    }
  }

  void visit(const State& state) {
    const Launch& launch = launch_of(state);
    std::vector<std::optional<Operation>> next(launch.warps.size());
    for (std::size_t warp = 0; warp < next.size(); warp++) {
      const Step step = step_of(state, warp);
      next[warp] = step.next;
      if (!step.next)
        require(step.loaded == launch.loaded[warp], "a warp loaded what isn't there");
      else if (orders_ == Orders::of_atomics && is_plain(step.next->kind))
        return go_on(state, warp, *step.next);
    }
    std::size_t num_ended = 0, num_able = 0;
    for (std::size_t warp = 0; warp < next.size(); warp++) {
      num_ended += !next[warp];
      if (!next[warp] || !able(state, *next[warp])) continue;
      num_able++;
      go_on(state, warp, *next[warp]);
    }
    if (num_ended == next.size()) return end(state);
    require(num_able > 0, "all warps that haven't ended wait");
  }

  void go_on(const State& state, std::size_t warp, const Operation& operation) {
    State after = state;
    after.results[warp].push_back(carry_out(after, warp, operation));
    push(std::move(after));
  }

  static bool is_plain(Kind kind) { return kind >= Kind::plain; }

  static bool able(const State& state, const Operation& operation) {
    return operation.kind != Kind::await || (state.words[operation.cell] & operation.value) != 0;
  }

  /// A launch has ended, which orders everything.
  void end(const State& state) {
    for (const std::uint32_t fetches : state.fetches)
      outcome_.most_fetches = std::max(outcome_.most_fetches, fetches);
    outcome_.valid.insert(state.words[kValid]);
    require((state.words[kDirty] & ~state.words[kValid]) == 0, "a dirty unit isn't valid");
    require((state.words[kValid] & ~state.words[kBusy]) == 0, "a valid unit wasn't claimed");
    if (scenario_.budgeted) require_frames(state);
    if (state.launch + 1 == scenario_.launches.size()) return end_of_all(state);
    State after = state;
    after.launch++;
    after.results = {};
    after.fetches = {};
    begin_clocks(after);
    push(std::move(after));
  }

  /// Each frame has a unit, or is free, once.
  void require_frames(const State& state) {
    std::vector<std::uint32_t> frames;
    const std::uint32_t held = state.words[kValid] & ~state.words[kInPlace];
    for (std::size_t unit = 0; unit < kNumUnits; unit++) {
      if ((held & bit(unit)) == 0) continue;
      frames.push_back(state.words[kFrameOf + unit]);
      require(frames.back() < scenario_.num_frames && state.words[kUnitIn + frames.back()] == unit,
              "a unit's frame has another");
    }
    for (std::uint32_t i = state.words[kHead]; i < state.words[kTail]; i++)
      frames.push_back(state.words[kFreeFrames + i % scenario_.num_frames]);
    std::ranges::sort(frames);
    std::vector<std::uint32_t> all(scenario_.num_frames);
    std::iota(all.begin(), all.end(), 0U);
    require(frames == all, "a frame is lost, or there twice");
  }

  /// The host's side flushes.
  void end_of_all(const State& state) {
    outcome_.num_ends++;
    std::array<std::uint32_t, kNumItems> host{};
    for (std::size_t item = 0; item < kNumItems; item++) {
      const std::size_t unit = item / kItemsPerUnit;
      const bool dirty = (state.words[kDirty] & bit(unit)) != 0;
      host[item] =
          state.items[dirty ? held_at(state.words[kFrameOf + unit], unit) + item % kItemsPerUnit
                            : kHost + item];
    }
    require(host == scenario_.host_after, "the host hasn't what was stored");
    if (scenario_.notes_changes) require_notes(state, host);
  }

  /// A flush knows all units that have other items than before: so it finds what a file has to get.
  void require_notes(const State& state, const std::array<std::uint32_t, kNumItems>& host) {
    for (std::size_t item = 0; item < kNumItems; item++) {
      const bool known =
          ((state.words[kDirty] | state.words[kChanged]) & bit(item / kItemsPerUnit)) != 0;
      require(known || host[item] == items_before()[item], "a change isn't noted");
    }
  }

  /// The first item of a unit in the device's memory.
  std::size_t held_at(std::size_t frame, std::size_t unit) const {
    return (scenario_.budgeted ? frame : unit) * kItemsPerUnit;
  }

  void require(bool holds, const char* failure) {
    if (!holds) outcome_.failures.insert(failure);
  }

  std::uint32_t carry_out(State& state, std::size_t warp, const Operation& operation) {
    const auto [kind, cell, value] = operation;
    state.clocks[warp][warp]++;
    switch (kind) {
      case Kind::plain:
        note_read(state, warp, state.word_accesses[cell]);
        return state.words[cell];
      case Kind::set:
        note_write(state, warp, state.word_accesses[cell]);
        return state.words[cell] = value;
      case Kind::read:
        note_read(state, warp, state.item_accesses[cell]);
        return state.items[cell];
      case Kind::write:
        note_write(state, warp, state.item_accesses[cell]);
        return state.items[cell] = value;
      case Kind::fetch:
      case Kind::bring:
        state.fetches[cell]++;
        return copy_unit(state, warp, kHost + cell * kItemsPerUnit, held_at(value, cell));
      case Kind::send:
        return copy_unit(state, warp, held_at(value, cell), kHost + cell * kItemsPerUnit);
      default:
        return carry_out_atomic(state, warp, operation);
    }
  }

  std::uint32_t carry_out_atomic(State& state, std::size_t warp, const Operation& operation) {
    const auto [kind, cell, value] = operation;
    note_atomic(state, warp, state.word_accesses[cell]);
    std::uint32_t& word = state.words[cell];
    switch (kind) {
      case Kind::acquire:
      case Kind::await:
        join(state.clocks[warp], state.released[cell]);
        return word;
      case Kind::or_release:
        join(state.released[cell], state.clocks[warp]);
        return std::exchange(word, word | value);
      case Kind::or_relaxed:
        return std::exchange(word, word | value);
      case Kind::and_relaxed:
        return std::exchange(word, word & value);
      case Kind::exchange:
        return std::exchange(word, value);
      case Kind::take:
        return std::exchange(word, word + value);
      default:
        return word;
    }
  }

  std::uint32_t copy_unit(State& state, std::size_t warp, std::size_t from, std::size_t to) {
    for (std::size_t i = 0; i < kItemsPerUnit; i++) {
      note_read(state, warp, state.item_accesses[from + i]);
      note_write(state, warp, state.item_accesses[to + i]);
      state.items[to + i] = state.items[from + i];
    }
    return 0;
  }

  /// Notes a race unless a warp is ordered after what others did.
  void require_order(const State& state, std::size_t warp, const Clock& others) {
    for (std::size_t i = 0; i < kMaxWarps; i++)
      require(i == warp || others[i] <= state.clocks[warp][i], "a race");
  }
  void note_read(const State& state, std::size_t warp, Accesses& accesses) {
    require_order(state, warp, accesses.writes);
    require_order(state, warp, accesses.atomics);
    accesses.reads[warp] = state.clocks[warp][warp];
  }
  void note_write(const State& state, std::size_t warp, Accesses& accesses) {
    require_order(state, warp, accesses.writes);
    require_order(state, warp, accesses.atomics);
    require_order(state, warp, accesses.reads);
    accesses.writes[warp] = state.clocks[warp][warp];
  }
  void note_atomic(const State& state, std::size_t warp, Accesses& accesses) {
    require_order(state, warp, accesses.writes);
    require_order(state, warp, accesses.reads);
    accesses.atomics[warp] = state.clocks[warp][warp];
  }

  const Scenario& scenario_;
  const Defect defect_;
  const Orders orders_;
  const Addresses addresses_{};
  const budgeted_map map_;
  std::set<std::pair<std::size_t, std::size_t>> seen_;
  std::deque<State> open_;
  Outcome outcome_;
};

}  // namespace

budgeted_map Addresses::map(const Scenario& scenario) const {
  const auto bytes = [](const Item* item) {
    return const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(item));
  };
  const auto at = [this](std::size_t cell) { return const_cast<paged::word*>(&words[cell]); };
  budgeted_map map{};
  map.device = map.frames = bytes(items.data());
  map.host = bytes(items.data() + kHost);
  map.valid = at(kValid);
  map.busy = at(kBusy);
  map.dirty = at(kDirty);
  map.settled = at(kSettled);
  map.in_place = at(kInPlace);
  map.used = at(kUsed);
  map.named = at(kNamed);
  map.all_settled = at(kAllSettled);
  map.whole = at(kWhole);
  map.parts_shift = scenario.parts_shift;
  if (scenario.notes_changes) map.changed = at(kChanged);
  map.frame_of = at(kFrameOf);
  map.unit_in = at(kUnitIn);
  map.free_frames = at(kFreeFrames);
  map.clock = const_cast<budgeted_clock*>(&clock);
  map.counters = const_cast<paged::number*>(counters.data());
  map.end_byte = kNumItems * sizeof(Item);
  map.unit_shift = kUnitShift;
  map.num_frames = scenario.num_frames;
  return map;
}

std::uint32_t Machine::make(const Operation& operation) const {
  if (*num_made_ < results_->size()) return (*results_)[(*num_made_)++];
  throw Paused{operation};
}

Machine::word Machine::acquire(const word* at) const {
  const bool forgotten = defect_ == Defect::check_without_acquire ||
                         (defect_ == Defect::told_without_acquire && cell_of(at) == kWhole);
  return make({forgotten ? Kind::relaxed : Kind::acquire, cell_of(at)});
}

Machine::word Machine::or_relaxed(word* at, word bits) const {
  const std::size_t cell = cell_of(at);
  if (defect_ == Defect::forget_a_change && cell == kChanged) return 0;
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

void Machine::and_relaxed(word* at, word bits) const {
  const std::size_t cell = cell_of(at);
  if (defect_ == Defect::evict_what_is_kept && cell != kUsed) return;
  make({Kind::and_relaxed, cell, bits});
}

Machine::word Machine::exchange(word* at, word value) const {
  const Kind kind = defect_ == Defect::free_a_frame_twice ? Kind::relaxed : Kind::exchange;
  return make({kind, cell_of(at), value});
}

Machine::number Machine::take(number* at, number count) const {
  const std::size_t cell = cell_of(at);
  if (defect_ == Defect::a_frame_for_two && cell == kHead) return relaxed(at);
  if (defect_ == Defect::keep_what_is_missing && cell == kHead && std::int64_t(count) < 0) return 0;
  return make({Kind::take, cell, std::uint32_t(count)});
}

std::array<std::uint32_t, kNumItems> items_before() {
  std::array<std::uint32_t, kNumItems> items{};
  std::iota(items.begin(), items.end(), 100U);
  return items;
}

Outcome explore(const Scenario& scenario, Defect defect) {
  return explore(scenario, defect, defect == Defect::none ? Orders::of_atomics : Orders::all);
}

Outcome explore(const Scenario& scenario, Defect defect, Orders orders) {
  return Explorer(scenario, defect, orders).explore();
}

}  // namespace isthmus::exploration
