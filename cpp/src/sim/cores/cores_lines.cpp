// The load/store unit: takes lines one after the other, and stalls if there is no room.
#include <algorithm>

#include "sim/cores/cores.hpp"

namespace isthmus::sim {

// Flattened: a simulation spends most of its time here.
[[gnu::flatten]] void Cores::run_unit(Core& core, std::uint32_t core_index) {
  core.horizon_ps = schedule_.now_ps() + lookahead_ps_;
  while (core.queue_size != 0) {
    const std::uint32_t warp = core.queue[core.queue_first];
    if (!run_operation({core, core_index, core.warps[warp], warp})) return;
    if (++core.queue_first == warps_per_core_) core.queue_first = 0;
    --core.queue_size;
  }
}

// Each line is handled with the state at its turn, which may be later than now, but only if no line
// with an unknown time can arrive before. Lines with later turns are tried again.
bool Cores::run_operation(const Position& at) {
  Core& core = at.core;
  Warp& warp = at.warp;
  const Operation* const operation = warp.operation;
  const trace::OpKind kind = operation->kind;
  const std::uint32_t end = operation[1].first_line;
  const Picoseconds horizon = core.horizon_ps;
  Picoseconds time_ps = std::max(schedule_.now_ps(), core.unit_free_ps);
  while (warp.line < end) {
    if (time_ps > horizon) {
      stall(core, at.core_index, time_ps - lookahead_ps_, 0);
      return false;
    }
    const Picoseconds until = accept(at, kind, asked(warp.lines[warp.line]), time_ps);
    if (until == kAccepted) {
      time_ps += unit_line_ps_;
      core.unit_free_ps = time_ps;
      ++warp.line;
    } else if (until > horizon) {
      stall(core, at.core_index, until, until);
      return false;
    } else {
      time_ps = until;
    }
  }
  ledger_.charge(warp.stream);
  result_.line_requests += end - operation->first_line;
  if (kind == trace::OpKind::store || kind == trace::OpKind::local_store) {
    line_here(at, time_ps, 0, 0);
  }
  if (--warp.pending == 0) end_operation(at);
  return true;
}

Picoseconds Cores::accept(const Position& at, trace::OpKind kind, const AskedLine& line,
                          Picoseconds& time_ps) {
  switch (kind) {
    case trace::OpKind::load:
    case trace::OpKind::local_load:
      return accept_load(at, line, time_ps);
    case trace::OpKind::atomic:
      return accept_atomic(at, line, time_ps);
    case trace::OpKind::local_store:
      return accept_local_store(at, line, time_ps);
    default:
      return stores_wait_ ? accept_atomic(at, line, time_ps) : accept_store(at, line, time_ps);
  }
}

Picoseconds Cores::accept_load(const Position& at, const AskedLine& line, Picoseconds& time_ps) {
  const std::size_t way = find(at.core, line);
  return way != CacheSets::kNowhere ? accept_hit(at, way, line, time_ps)
                                    : accept_miss(at, line, time_ps);
}

Picoseconds Cores::accept_hit(const Position& at, std::size_t way, const AskedLine& line,
                              Picoseconds time_ps) {
  const Picoseconds filled_ps = at.core.l1.filled_ps(way);
  if (filled_ps == kNever) {
    const std::uint32_t index = L1Note{at.core.l1.note(way)}.miss();
    Miss& miss = at.core.misses[index];
    if (miss.num_waiters == machine_.l1.merges) return kNever;
    at.core.waiters[std::size_t{index} * machine_.l1.merges + miss.num_waiters++] =
        static_cast<std::uint16_t>(at.warp_index);
    ++at.warp.pending;
    stay(at, line, time_ps, false);
  } else {
    line_here(at, filled_ps, 0, 0);
    stay(at, line, time_ps, true);
  }
  ++result_.caches.l1_hits;
  return kAccepted;
}

Picoseconds Cores::accept_miss(const Position& at, const AskedLine& line, Picoseconds& time_ps) {
  Core& core = at.core;
  if (const Picoseconds until = free_a_miss(core, time_ps); until != kAccepted) return until;
  std::size_t way = CacheSets::kNowhere;
  if (l1_sets_ != 0) {
    way = core.l1.oldest_filled(line.l1_set, time_ps);
    if (way == CacheSets::kNowhere) return core.l1.first_fill_ps(line.l1_set);
  }
  ++result_.caches.l1_misses;
  const std::uint32_t index = take_miss(at, way);
  if (way != CacheSets::kNowhere) place_in_l1(at, way, line, {kNever, index}, time_ps);
  send(EventKind::load, at, index, line, time_ps);
  return kAccepted;
}

std::uint32_t Cores::take_miss(const Position& at, std::size_t l1_way) {
  Core& core = at.core;
  const std::uint32_t index = core.free_misses.back();
  core.free_misses.pop_back();
  core.misses[index] = {0, l1_way, 1};
  core.waiters[std::size_t{index} * machine_.l1.merges] = static_cast<std::uint16_t>(at.warp_index);
  ++at.warp.pending;
  return index;
}

Picoseconds Cores::accept_atomic(const Position& at, const AskedLine& line, Picoseconds& time_ps) {
  if (const Picoseconds until = free_a_miss(at.core, time_ps); until != kAccepted) return until;
  drop_from_l1(at.core, line);
  send(EventKind::atomic, at, take_miss(at, CacheSets::kNowhere), line, time_ps);
  return kAccepted;
}

Picoseconds Cores::accept_store(const Position& at, const AskedLine& line, Picoseconds time_ps) {
  if (at.core.stores == max_stores_) return kNever;
  drop_from_l1(at.core, line);
  ++at.core.stores;
  ++kernels_[at.warp.stream].stores;
  send(EventKind::store, at, at.warp.stream, line, time_ps);
  return kAccepted;
}

Picoseconds Cores::accept_local_store(const Position& at, const AskedLine& line,
                                      Picoseconds time_ps) {
  Core& core = at.core;
  std::size_t way = find(core, line);
  if (way != CacheSets::kNowhere) {
    ++result_.caches.l1_hits;
  } else {
    if (l1_sets_ != 0) way = core.l1.oldest_filled(line.l1_set, time_ps);
    if (way == CacheSets::kNowhere) return accept_store(at, line, time_ps);
    ++result_.caches.l1_misses;
    place_in_l1(at, way, line, {time_ps, 0}, time_ps);
  }
  core.l1.set_dirty(way);
  stay(at, line, time_ps, false);
  return kAccepted;
}

// A request that L1 serves. The warp waits only for its translation, and not even for that if
// `anybody` is false.
void Cores::stay(const Position& at, const AskedLine& line, Picoseconds time_ps, bool anybody) {
  const Picoseconds translated_ps = translate(at.core, line, time_ps);
  if (translated_ps == kNever) {
    if (anybody) ++at.warp.pending;
    schedule_.at(time_ps, {EventKind::translate, at.core_index, anybody ? at.warp_index : kNobody,
                           line.place, static_cast<std::uint32_t>(AfterTranslation::l1_hit)});
  } else if (anybody) {
    line_here(at, translated_ps + l1_hit_ps_, translated_ps - time_ps, 0);
  }
}

// A request that L1 doesn't serve: goes through translation to its partition.
void Cores::send(EventKind kind, const Position& at, std::uint32_t miss, const AskedLine& line,
                 Picoseconds time_ps) {
  const Picoseconds translated_ps = translate(at.core, line, time_ps);
  ++result_.tlb.accesses_after_l1;
  if (translated_ps != time_ps) ++result_.tlb.misses_after_l1;
  if (translated_ps == kNever) {
    const std::uint32_t after =
        static_cast<std::uint32_t>(kind) - static_cast<std::uint32_t>(EventKind::load);
    return schedule_.at(time_ps, {EventKind::translate, at.core_index, miss, line.place, after});
  }
  if (kind != EventKind::store) at.core.misses[miss].translation_ps = translated_ps - time_ps;
  const std::uint32_t missed = translated_ps == time_ps ? 0 : 1;
  schedule_.at(translated_ps + network_ps_, {kind, at.core_index, miss, line.place, missed});
}

// Stalls until `until_ps`, or until a line arrives before `wake_before_ps`.
void Cores::stall(Core& core, std::uint32_t core_index, Picoseconds until_ps,
                  Picoseconds wake_before_ps) {
  core.stalled = true;
  core.resume_ps = until_ps;
  core.wake_before_ps = wake_before_ps;
  if (until_ps != kNever) schedule_.at(until_ps, EventKind::resume, core_index);
}

// Writes back a displaced dirty line: dirty lines belong to local memory.
void Cores::place_in_l1(const Position& at, std::size_t way, const AskedLine& line,
                        const OnItsWay& from, Picoseconds time_ps) {
  CacheSets& l1 = at.core.l1;
  if (l1.dirty(way)) write_back(at, way, time_ps);
  l1.replace(line.l1_set, way, line.tag, from.filled_ps);
  l1.note(way) = L1Note::of(line.place, from.miss).bits;
}

// Does nothing if its page was evicted.
void Cores::write_back(const Position& at, std::size_t way, Picoseconds time_ps) {
  const std::uint64_t tag = at.core.l1.tag(way);
  const PlacedLine place = L1Note{at.core.l1.note(way)}.place(tag);
  if (asked(place).tag != tag) return;
  ++kernels_[at.warp.stream].stores;
  const std::uint32_t waiter = kNobody - at.warp.stream;
  schedule_.at(time_ps + network_ps_, {EventKind::store, at.core_index, waiter, place, 0});
}

// Lines in flight stay.
void Cores::drop_from_l1(Core& core, const AskedLine& line) {
  const std::size_t way = find(core, line);
  if (way == CacheSets::kNowhere || core.l1.filled_ps(way) == kNever) return;
  core.l1.drop(line.l1_set, way);
}

// An entry is free again when its line has arrived. The caller takes it with take_miss(). If one
// becomes free within the horizon, the line's turn is at that time.
Picoseconds Cores::free_a_miss(Core& core, Picoseconds& time_ps) {
  if (!core.free_misses.empty()) return kAccepted;
  const Picoseconds first_ps = core.fills.first_ps();
  if (first_ps > core.horizon_ps) return first_ps;
  time_ps = std::max(time_ps, first_ps);
  core.free_misses.push_back(static_cast<std::uint16_t>(core.fills.take_first()));
  return kAccepted;
}

}  // namespace isthmus::sim
