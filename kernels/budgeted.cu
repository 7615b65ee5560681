// Operations on a budgeted array: what the host's side does with its frames, and what is built in.
//
// Launch: any grid of whole warps, blocks of at most 256 lanes. Launches on one array follow each other: the host's side sees to
// it. States: isthmus/budgeted_array.cuh. CPU reference: tests/device/test_budgeted_array.py.
#include "paged_items.cuh"

#include "eviction.cuh"

/// Begins with all frames free.
extern "C" __global__ void isthmus_budgeted_begin(const isthmus::budgeted_map* map) {
  for (uint64_t i = isthmus_lane(); i < map->num_frames; i += isthmus_num_lanes()) {
    map->free_frames[i] = uint32_t(i);
    map->unit_in[i] = isthmus::paged::kNoUnit;
  }
  // Without frames, all units are in place.
  const uint64_t num_words = map->num_frames == 0 ? (map->num_units() + 31) / 32 : 0;
  for (uint64_t i = isthmus_lane(); i < num_words; i += isthmus_num_lanes())
    map->valid[i] = map->busy[i] = map->in_place[i] = ~uint32_t(0);
  if (isthmus_lane() == 0) map->clock->tail = map->num_frames;
}

/// Begins a launch's turn: see settle_word and begin_sweep.
extern "C" __global__ void isthmus_budgeted_settle(const isthmus::budgeted_map* map,
                                                   uint32_t* settled) {
  const IsthmusPagedMachine machine{};
  const uint64_t num_words = (map->num_units() + 31) / 32;
  for (uint64_t i = isthmus_lane(); i < num_words; i += isthmus_num_lanes())
    isthmus::paged::settle_word(machine, *map, settled, i);
  if (isthmus_lane() != 0) return;
  isthmus::paged::begin_sweep(machine, *map,
                              isthmus::paged::frames_of_round(*map, kIsthmusWarpLanes));
}

/// Lets the sweep know that units will be asked for: it frees as many frames, but not theirs.
extern "C" __global__ void isthmus_budgeted_announce(const isthmus::budgeted_map* map,
                                                     uint64_t first_unit, uint64_t end_unit) {
  const IsthmusPagedMachine machine{};
  const uint64_t end_word = (end_unit + 31) / 32;
  for (uint64_t i = first_unit / 32 + isthmus_lane(); i < end_word; i += isthmus_num_lanes()) {
    const uint32_t named = isthmus_bits_within(i, first_unit, end_unit);
    const uint32_t held = map->valid[i] & named;
    map->named[i] |= held;
    uint64_t num_absent = 0;
    for (uint32_t left = named & ~held; left != 0; left &= left - 1) num_absent++;
    if (num_absent != 0) machine.take(&map->clock->announced, num_absent);
  }
}

/// Frees frames, as many as the last launches missed and as were announced.
extern "C" __global__ void isthmus_budgeted_sweep(const isthmus::budgeted_map* map,
                                                  uint32_t* settled) {
  // Eight chunks for each warp: with fewer, warps would begin the second round before others have
  // ended the first, and free what was used although there is what wasn't.
  if (isthmus_first_of_warp() * 8 > map->num_frames) return;
  const IsthmusPagedMachine machine{};
  isthmus::paged::sweep(machine, *map, settled, machine.together(isthmus::paged::kEntering));
}

/// Makes the units of `runs` valid that are absent, one run after the other, until no frame is free.
extern "C" __global__ void __launch_bounds__(256, 3)
    isthmus_budgeted_make_valid(const isthmus::budgeted_map* map,
                                const __grid_constant__ isthmus::paged::unit_runs runs) {
  const IsthmusPagedMachine machine{};
  const uint64_t stride = isthmus_num_lanes();
  for (uint64_t run = 0; run < runs.count; run++)
    for (uint64_t i = runs.begin[run] + isthmus_first_of_warp(); i < runs.end[run]; i += stride) {
      const uint64_t unit = i + isthmus_lane_of_warp();
      const auto all = machine.together(isthmus::paged::kEntering);
      const bool full =
          isthmus_lane_of_warp() == 0 && machine.relaxed(&map->clock->head) >= map->clock->tail;
      if (machine.ballot(all, full) != 0) return;
      isthmus::paged::make_valid(machine, *map, all, uint32_t(unit), unit < runs.end[run],
                                 isthmus::paged::request(runs.how[run]));
    }
}

/// Makes units absent, whose frames become free. What was stored to them is lost.
extern "C" __global__ void isthmus_budgeted_invalidate(const isthmus::budgeted_map* map,
                                                       uint32_t* settled, uint64_t first_unit,
                                                       uint64_t end_unit) {
  const IsthmusPagedMachine machine{};
  for (uint64_t i = first_unit + isthmus_lane(); i < end_unit; i += isthmus_num_lanes()) {
    const isthmus::paged::place at = isthmus::paged::place_of(uint32_t(i));
    if ((machine.relaxed(map->valid + at.index) & at.bit) == 0) continue;
    const uint32_t frame = map->frame_of[i];
    map->unit_in[frame] = isthmus::paged::kNoUnit;
    map->free_frames[machine.take(&map->clock->tail, 1) % map->num_frames] = frame;
    machine.and_relaxed(map->valid + at.index, ~at.bit);
    machine.and_relaxed(map->busy + at.index, ~at.bit);
    machine.and_relaxed(map->dirty + at.index, ~at.bit);
    machine.and_relaxed(settled + at.index, ~at.bit);
  }
}

/// Moves the bits of map->changed to `taken`: what a kernel notes meanwhile is in one of the two.
extern "C" __global__ void isthmus_budgeted_take_changed(const isthmus::budgeted_map* map,
                                                         uint32_t* taken) {
  const IsthmusPagedMachine machine{};
  const uint64_t num_words = (map->num_units() + 31) / 32;
  for (uint64_t i = isthmus_lane(); i < num_words; i += isthmus_num_lanes())
    taken[i] |= machine.exchange(map->changed + i, 0);
}

ISTHMUS_PAGED_OPERATIONS(budgeted, isthmus::budgeted_map)
