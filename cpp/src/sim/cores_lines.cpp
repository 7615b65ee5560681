// The load/store unit: takes lines one after the other, and stands still where there is no room.
#include <algorithm>

#include "sim/cores.hpp"

namespace isthmus::sim {

void Cores::run_unit(std::uint32_t core_index) {
  Core& core = cores_[core_index];
  while (core.queue_size != 0) {
    if (!run_operation(core, core_index, core.queue[core.queue_first])) return;
    if (++core.queue_first == warps_per_core_) core.queue_first = 0;
    --core.queue_size;
  }
}

// Each line finds things as they are when it is its turn, which may be later than now: then no line
// whose time isn't known yet can have come before it. What has to wait longer is looked at again.
// Flattened: this is where the time of a simulation goes.
[[gnu::flatten]] bool Cores::run_operation(Core& core, std::uint32_t core_index,
                                           std::uint32_t warp_index) {
  Warp& warp = core.warps[warp_index];
  const Position at{core, core_index, warp, warp_index};
  const Operation* const operation = warp.operation;
  const trace::OpKind kind = operation->kind;
  const std::uint32_t end = operation[1].first_line;
  const Picoseconds horizon = core.horizon_ps = schedule_.now_ps() + lookahead_ps_;
  Picoseconds time_ps = std::max(schedule_.now_ps(), core.unit_free_ps);
  while (warp.line < end) {
    if (time_ps > horizon) {
      stall(core, core_index, time_ps - lookahead_ps_, 0);
      return false;
    }
    const Picoseconds until = accept(at, kind, warp.lines[warp.line], time_ps);
    if (until == kAccepted) {
      time_ps += unit_line_ps_;
      core.unit_free_ps = time_ps;
      ++warp.line;
    } else if (until > horizon) {
      stall(core, core_index, until, until);
      return false;
    } else {
      time_ps = until;
    }
  }
  result_.line_requests += end - operation->first_line;
  if (kind == trace::OpKind::store || kind == trace::OpKind::local_store) {
    line_here(at, time_ps, 0, 0);
  }
  if (--warp.pending == 0) end_operation(at);
  return true;
}

Picoseconds Cores::accept(const Position& at, trace::OpKind kind, PlacedLine place,
                          Picoseconds& time_ps) {
  switch (kind) {
    case trace::OpKind::load:
    case trace::OpKind::local_load:
      return accept_load(at, place, time_ps);
    case trace::OpKind::atomic:
      return accept_atomic(at, place, time_ps);
    case trace::OpKind::local_store:
      return accept_local_store(at, place, time_ps);
    default:
      return accept_store(at, place, time_ps);
  }
}

Picoseconds Cores::accept_load(const Position& at, PlacedLine place, Picoseconds& time_ps) {
  L1Line* const line = find(at.core, place, generation_of(place));
  return line != nullptr ? accept_hit(at, *line, place, time_ps) : accept_miss(at, place, time_ps);
}

Picoseconds Cores::accept_hit(const Position& at, L1Line& line, PlacedLine place,
                              Picoseconds time_ps) {
  if (line.filled_ps == kNever) {
    Miss& miss = at.core.misses[line.miss];
    if (miss.num_waiters == machine_.l1.merges) return kNever;
    at.core.waiters[std::size_t{line.miss} * machine_.l1.merges + miss.num_waiters++] =
        static_cast<std::uint16_t>(at.warp_index);
    ++at.warp.pending;
    stay(at, place, time_ps, translate(at.core, place, time_ps), false);
  } else {
    line_here(at, line.filled_ps, 0, 0);
    stay(at, place, time_ps, translate(at.core, place, time_ps), true);
  }
  ++result_.caches.l1_hits;
  return kAccepted;
}

Picoseconds Cores::accept_miss(const Position& at, PlacedLine place, Picoseconds& time_ps) {
  Core& core = at.core;
  if (const Picoseconds until = free_a_miss(core, time_ps); until != kAccepted) return until;
  L1Line* room = nullptr;
  if (l1_sets_ != 0) {
    room = victim(core, place, time_ps);
    if (room == nullptr) return first_fill_of_set(core, place);
  }
  ++result_.caches.l1_misses;
  const std::uint16_t index = take_miss(at);
  if (room != nullptr) {
    displace(at.core_index, *room, time_ps);
    *room = {place, kNever, ++core.uses, generation_of(place), index, false};
    core.misses[index].l1_line = static_cast<std::uint32_t>(room - core.l1.data());
  }
  send(EventKind::load, at.core_index, index, place, time_ps, translate(core, place, time_ps));
  return kAccepted;
}

std::uint16_t Cores::take_miss(const Position& at) {
  Core& core = at.core;
  const std::uint16_t index = core.free_misses.back();
  core.free_misses.pop_back();
  core.misses[index] = {0, Miss::kNoL1Line, 1};
  core.waiters[std::size_t{index} * machine_.l1.merges] = static_cast<std::uint16_t>(at.warp_index);
  ++at.warp.pending;
  return index;
}

Picoseconds Cores::accept_atomic(const Position& at, PlacedLine place, Picoseconds& time_ps) {
  Core& core = at.core;
  if (const Picoseconds until = free_a_miss(core, time_ps); until != kAccepted) return until;
  L1Line* const old = find(core, place, generation_of(place));
  if (old != nullptr && old->filled_ps != kNever) *old = {};
  const std::uint16_t index = take_miss(at);
  send(EventKind::atomic, at.core_index, index, place, time_ps, translate(core, place, time_ps));
  return kAccepted;
}

Picoseconds Cores::accept_store(const Position& at, PlacedLine place, Picoseconds time_ps) {
  L1Line* const old = find(at.core, place, generation_of(place));
  if (old != nullptr && old->filled_ps != kNever) *old = {};
  ++stores_sent_;
  send(EventKind::store, at.core_index, kNobody, place, time_ps,
       translate(at.core, place, time_ps));
  return kAccepted;
}

Picoseconds Cores::accept_local_store(const Position& at, PlacedLine place, Picoseconds time_ps) {
  Core& core = at.core;
  L1Line* line = find(core, place, generation_of(place));
  if (line != nullptr) {
    ++result_.caches.l1_hits;
  } else {
    line = l1_sets_ == 0 ? nullptr : victim(core, place, time_ps);
    if (line == nullptr) return accept_store(at, place, time_ps);
    ++result_.caches.l1_misses;
    displace(at.core_index, *line, time_ps);
    *line = {place, time_ps, ++core.uses, generation_of(place), 0, false};
  }
  line->dirty = true;
  stay(at, place, time_ps, translate(core, place, time_ps), false);
  return kAccepted;
}

// A request that L1 serves: its warp waits for its translation only, and not at all if nobody asks.
void Cores::stay(const Position& at, PlacedLine place, Picoseconds time_ps,
                 Picoseconds translated_ps, bool anybody) {
  if (translated_ps == kNever) {
    if (anybody) ++at.warp.pending;
    schedule_.at(time_ps, {EventKind::translate, at.core_index, anybody ? at.warp_index : kNobody,
                           place, static_cast<std::uint32_t>(AfterTranslation::l1_hit)});
  } else if (anybody) {
    line_here(at, translated_ps + l1_hit_ps_, translated_ps - time_ps, 0);
  }
}

// A request that L1 doesn't serve: through translation to its partition.
void Cores::send(EventKind kind, std::uint32_t core, std::uint32_t miss, PlacedLine place,
                 Picoseconds time_ps, Picoseconds translated_ps) {
  ++result_.tlb.accesses_after_l1;
  if (translated_ps != time_ps) ++result_.tlb.misses_after_l1;
  if (translated_ps == kNever) {
    const std::uint32_t after =
        static_cast<std::uint32_t>(kind) - static_cast<std::uint32_t>(EventKind::load);
    return schedule_.at(time_ps, {EventKind::translate, core, miss, place, after});
  }
  if (miss != kNobody) cores_[core].misses[miss].translation_ps = translated_ps - time_ps;
  const std::uint32_t missed = translated_ps == time_ps ? 0 : 1;
  schedule_.at(translated_ps + network_ps_, {kind, core, miss, place, missed});
}

// Until `until_ps`, or until a line comes before `wake_before_ps`.
void Cores::stall(Core& core, std::uint32_t core_index, Picoseconds until_ps,
                  Picoseconds wake_before_ps) {
  core.stalled = true;
  core.resume_ps = until_ps;
  core.wake_before_ps = wake_before_ps;
  if (until_ps != kNever) schedule_.at(until_ps, EventKind::resume, core_index);
}

// In these two all ways are looked at: a jump out of the loop would be guessed wrong too often.
L1Line* Cores::find(Core& core, PlacedLine place, std::uint32_t generation) {
  if (l1_sets_ == 0) return nullptr;
  L1Line* const set = &core.l1[l1_set(place) * machine_.l1.ways];
  L1Line* found = nullptr;
  for (std::uint32_t way = 0; way < machine_.l1.ways; ++way) {
    const bool same = set[way].place.bits == place.bits && set[way].generation == generation;
    found = same ? set + way : found;
  }
  if (found != nullptr) found->used = ++core.uses;
  return found;
}

// Lines on their way have to stay.
L1Line* Cores::victim(Core& core, PlacedLine place, Picoseconds time_ps) {
  L1Line* const set = &core.l1[l1_set(place) * machine_.l1.ways];
  L1Line* oldest = nullptr;
  std::uint64_t oldest_use = ~0ULL;
  for (std::uint32_t way = 0; way < machine_.l1.ways; ++way) {
    const bool better = (set[way].filled_ps <= time_ps) & (set[way].used < oldest_use);
    oldest = better ? set + way : oldest;
    oldest_use = better ? set[way].used : oldest_use;
  }
  return oldest;
}

void Cores::displace(std::uint32_t core, L1Line& line, Picoseconds time_ps) {
  if (!line.dirty || line.generation != generation_of(line.place)) return;
  ++stores_sent_;
  schedule_.at(time_ps + network_ps_, {EventKind::store, core, kNobody, line.place, 0});
}

// All of the set are on their way.
Picoseconds Cores::first_fill_of_set(const Core& core, PlacedLine place) const {
  const L1Line* const set = &core.l1[std::size_t{l1_set(place)} * machine_.l1.ways];
  Picoseconds first = kNever;
  for (std::uint32_t way = 0; way < machine_.l1.ways; ++way) {
    first = std::min(first, set[way].filled_ps);
  }
  return first;
}

// An entry whose line has come is free again. What is found free is take_miss()'s. If one will be
// within the horizon, the line's turn is then.
Picoseconds Cores::free_a_miss(Core& core, Picoseconds& time_ps) {
  if (!core.free_misses.empty()) return kAccepted;
  const Picoseconds first_ps = core.fills.first_ps();
  if (first_ps > core.horizon_ps) return first_ps;
  time_ps = std::max(time_ps, first_ps);
  core.free_misses.push_back(static_cast<std::uint16_t>(core.fills.take_first()));
  return kAccepted;
}

}  // namespace isthmus::sim
