// The clock of a budgeted array: between launches it frees the frames that weren't used lately.
//
// Templates on the machine, so that cpp/tests/paged runs warps of it in every order.
#pragma once

#include "isthmus/budgeted_array.cuh"

namespace isthmus::paged {

/// Frames in whole warps, so that no warp of the clock has frames of two rounds.
ISTHMUS_PAGED_CODE number frames_of_round(const budgeted_map& map, number width) {
  return (map.num_frames + width - 1) / width * width;
}

/// Word `i` of the maps, before a launch. Units that are in place become absent, so that they can get
/// a frame; later launches know without any order which units have one.
template <typename Machine>
ISTHMUS_PAGED_CODE void settle_word(const Machine& machine, const budgeted_map& map, word* settled,
                                    number i) {
  const word held = machine.plain(map.valid + i) & ~machine.plain(map.in_place + i);
  machine.set(map.valid + i, held);
  machine.set(map.busy + i, held);
  machine.set(settled + i, held);
  machine.set(map.in_place + i, word(0));
  machine.set(map.named + i, word(0));
}

/// What one lane does before a sweep. Units that got no frame since the last one are missed: as many
/// frames are wanted. A sixteenth of all is freed even if every frame was used, so that what is used
/// more often can come; else a frame would be held for ever.
template <typename Machine>
ISTHMUS_PAGED_CODE void begin_sweep(const Machine& machine, const budgeted_map& map, number round) {
  budgeted_clock& clock = *map.clock;
  const number missed = machine.plain(&clock.missed);
  const number few = map.num_frames / 16 + 1;
  const number hand = machine.plain(&clock.hand) + machine.plain(&clock.position);
  machine.set(&clock.num_free, machine.plain(&clock.tail) - machine.plain(&clock.head));
  machine.set(&clock.missed, number(0));
  machine.set(&clock.hand, hand % round);
  machine.set(&clock.position, number(0));
  machine.set(&clock.freed, number(0));
  machine.set(&clock.wanted, missed);
  machine.set(&clock.forced, missed < few ? missed : few);
  machine.set(&clock.announced, number(0));
}

/// How many frames a round of the sweep frees.
template <typename Machine>
ISTHMUS_PAGED_CODE number goal_of(const Machine& machine, const budgeted_clock& clock,
                                  bool second_round) {
  const number announced = machine.plain(&clock.announced),
               num_free = machine.plain(&clock.num_free);
  const number more = announced > num_free ? announced - num_free : 0;
  const number own = machine.plain(second_round ? &clock.forced : &clock.wanted);
  return own > more ? own : more;
}

/// Frees the frames of the lanes in `chosen`, which have taken their units out of them. What was
/// stored to a unit is written back.
template <typename Machine>
ISTHMUS_PAGED_CODE void free_frames(const Machine& machine, const budgeted_map& map, word* settled,
                                    typename Machine::lanes mask, typename Machine::lanes chosen,
                                    unit_number unit, word frame) {
  const bool mine = (chosen >> machine.lane() & 1U) != 0;
  const place at = place_of(mine ? unit : 0);
  const bool dirty = mine && (machine.relaxed(map.dirty + at.index) & at.bit) != 0;
  const auto stored = machine.ballot(mask, dirty);
  if (stored != 0) machine.send(map, mask, stored, unit, frame);
  note_changed(machine, map, mask, unit, dirty);
  if (mine) {
    machine.and_relaxed(map.valid + at.index, ~at.bit);
    machine.and_relaxed(map.busy + at.index, ~at.bit);
    machine.and_relaxed(map.dirty + at.index, ~at.bit);
    machine.and_relaxed(settled + at.index, ~at.bit);
  }
  const unsigned leader = machine.lowest(chosen);
  word first = 0;
  if (machine.lane() == leader) {
    first = word(machine.take(&map.clock->tail, machine.count(chosen)) % map.num_frames);
    machine.add(map.counters + kEvicted, machine.count(chosen));
    machine.add(map.counters + kWrittenBack, machine.count(stored));
  }
  first = machine.from_lane(mask, first, leader);
  if (mine)
    machine.set(map.free_frames + (number(first) + machine.rank(chosen)) % map.num_frames, frame);
}

/// Where a warp goes on, counted from the hand, for its lane that leads: at two rounds the sweep has
/// ended.
template <typename Machine>
ISTHMUS_PAGED_CODE number next_position(const Machine& machine, const budgeted_map& map,
                                        number round, unsigned width) {
  budgeted_clock& clock = *map.clock;
  const bool second_round = machine.relaxed(&clock.position) >= round;
  if (machine.relaxed(&clock.freed) >= goal_of(machine, clock, second_round)) return 2 * round;
  const number position = machine.take(&clock.position, width);
  return position < 2 * round ? position : 2 * round;
}

/// How many of `count` frames a warp may free, for its lane that leads: all warps together free no
/// more than the round's goal, and perhaps a few less if some are in each round.
template <typename Machine>
ISTHMUS_PAGED_CODE word reserve(const Machine& machine, const budgeted_map& map, word count,
                                bool second_round) {
  budgeted_clock& clock = *map.clock;
  number at = 0;
  return take_up_to(machine, &clock.freed, goal_of(machine, clock, second_round), count, at);
}

/// Sweeps over the frames, all warps of a launch together, until enough are free: in the first round
/// those that weren't used since the last sweep, in the second any others. Warps may be in both rounds
/// at once. Units that are named keep their frames. No other launch uses the array meanwhile.
template <typename Machine>
ISTHMUS_PAGED_CODE void sweep(const Machine& machine, const budgeted_map& map, word* settled,
                              typename Machine::lanes mask) {
  const unsigned width = machine.count(mask), leader = machine.lowest(mask);
  const bool leads = machine.lane() == leader;
  const number round = frames_of_round(map, width);
  const number hand = machine.plain(&map.clock->hand);
  for (;;) {
    const number next = leads ? next_position(machine, map, round, width) : 0;
    const number position = number(machine.from_lane(mask, word(next / width), leader)) * width;
    if (position >= 2 * round) return;
    const bool second_round = position >= round;
    const auto frame = word((hand + position + machine.rank(mask)) % round);
    const unit_number unit =
        frame < map.num_frames ? machine.relaxed(map.unit_in + frame) : kNoUnit;
    const place at = place_of(unit == kNoUnit ? 0 : unit);
    const bool used = unit != kNoUnit && (machine.relaxed(map.used + at.index) & at.bit) != 0;
    if (used) machine.and_relaxed(map.used + at.index, ~at.bit);
    const bool kept =
        (used && !second_round) || (machine.plain(map.named + at.index) & at.bit) != 0;
    const auto found = machine.ballot(mask, unit != kNoUnit && !kept);
    if (found == 0) continue;
    const word reserved = leads ? reserve(machine, map, machine.count(found), second_round) : 0;
    const word allowed = machine.from_lane(mask, reserved, leader);
    const bool may = (found >> machine.lane() & 1U) != 0 && machine.rank(found) < allowed;
    // Two warps may have a frame at once, one in each round: one of them takes the unit.
    const bool mine = may && machine.exchange(map.unit_in + frame, kNoUnit) == unit;
    const auto chosen = machine.ballot(mask, mine);
    if (chosen != 0) free_frames(machine, map, settled, mask, chosen, unit, frame);
  }
}

}  // namespace isthmus::paged
