// Operations on a paged array: what the host's side does with its units, and what is built in.
//
// Launch: any grid of whole warps, blocks of at most 256 lanes. A paged array and its states: isthmus/paged_array.cuh.
// CPU reference: tests/device/test_paged_array.py.
#include "paged_items.cuh"

/// True if all units are valid; the lanes of this block, who all call it, are ordered after who made
/// them so. Looks at eight words a lane at once, and ends where one isn't whole.
__device__ inline bool isthmus_holds_all_units(const isthmus::paged_map& map) {
  constexpr unsigned kAtOnce = 8;
  const IsthmusPagedMachine machine{};
  const uint64_t num_units = map.num_units(), num_words = (num_units + 31) / 32;
  for (uint64_t first = 0; first < num_words; first += kAtOnce * blockDim.x) {
    uint32_t words[kAtOnce];
    for (unsigned i = 0; i < kAtOnce; i++) {
      const uint64_t index = first + i * blockDim.x + threadIdx.x;
      words[i] = index < num_words ? machine.relaxed(map.valid + index) : 0;
    }
    bool whole = true;
    for (unsigned i = 0; i < kAtOnce; i++) {
      const uint64_t index = first + i * blockDim.x + threadIdx.x;
      if (index < num_words) whole = whole && words[i] == isthmus_bits_within(index, 0, num_units);
    }
    if (!isthmus_block_agrees(whole)) return false;
  }
  __threadfence();  // with the loads before: an acquire of all words
  return isthmus_block_agrees(true);
}

/// Lets launches that run meanwhile know if all units are valid. A single block.
extern "C" __global__ void isthmus_paged_conclude(const isthmus::paged_map* map) {
  const IsthmusPagedMachine machine{};
  if (isthmus_block_agrees(machine.relaxed(map->whole) != 0)) return;
  if (isthmus_holds_all_units(*map) && threadIdx.x == 0) machine.or_release(map->whole, 1);
}

/// Lets later launches know without any order what is valid now, and others if all is. What one block
/// finds doesn't depend on others: graphs may run it twice at once.
///
/// all_settled  becomes not 0 if all units are valid; isthmus_paged_invalidate makes it 0 again
extern "C" __global__ void isthmus_paged_settle(const isthmus::paged_map* map, uint32_t* settled,
                                                uint32_t* all_settled) {
  const IsthmusPagedMachine machine{};
  if (isthmus_block_agrees(machine.relaxed(all_settled) != 0)) return;
  const uint64_t num_words = (map->num_units() + 31) / 32;
  for (uint64_t i = isthmus_lane(); i < num_words; i += isthmus_num_lanes())
    settled[i] = machine.acquire(map->valid + i);
  if (blockIdx.x != 0 || !isthmus_holds_all_units(*map) || threadIdx.x != 0) return;
  *all_settled = 1;
  machine.or_release(map->whole, 1);
}

/// Makes the units of `runs` valid that are absent. Warps fetch what is next to each other, 1 KiB each
/// at a time: the link is as quick then as for a stream in order. A run begins with the warp after the
/// last one of the run before, so that short runs are fetched at once.
extern "C" __global__ void __launch_bounds__(256, 3)
    isthmus_paged_make_valid(const isthmus::paged_map* map,
                             const __grid_constant__ isthmus::paged::unit_runs runs) {
  const IsthmusPagedMachine machine{};
  const uint64_t warp = isthmus_first_of_warp() / kIsthmusWarpLanes;
  const uint64_t num_warps = isthmus_num_lanes() / kIsthmusWarpLanes;
  const uint64_t fetched_at_once = map->unit_shift < 10 ? 1024U >> map->unit_shift : 1;
  uint64_t first_warp = 0;
  for (uint64_t i = 0; i < runs.count; i++) {
    const auto request = isthmus::paged::request(runs.how[i]);
    uint64_t at_once = kIsthmusWarpLanes;
    if (request != isthmus::paged::kOverwritten && at_once > fetched_at_once)
      at_once = fetched_at_once;
    const uint64_t turn = (warp + num_warps - first_warp) % num_warps;
    for (uint64_t first = runs.begin[i] + turn * at_once; first < runs.end[i];
         first += num_warps * at_once) {
      const uint64_t unit = first + isthmus_lane_of_warp();
      const bool wanted = isthmus_lane_of_warp() < at_once && unit < runs.end[i];
      isthmus::paged::make_valid(machine, *map, machine.together(isthmus::paged::kEntering),
                                 uint32_t(unit), wanted, request);
    }
    first_warp = (first_warp + (runs.end[i] - runs.begin[i] + at_once - 1) / at_once) % num_warps;
  }
}

/// Makes units absent. No other launch uses the array meanwhile.
extern "C" __global__ void isthmus_paged_invalidate(const isthmus::paged_map* map,
                                                    uint32_t* settled, uint32_t* all_settled,
                                                    uint64_t first_unit, uint64_t end_unit) {
  if (isthmus_lane() == 0) *all_settled = *map->whole = 0;
  const uint64_t end_word = (end_unit + 31) / 32;
  for (uint64_t i = first_unit / 32 + isthmus_lane(); i < end_word; i += isthmus_num_lanes()) {
    const uint32_t kept = ~isthmus_bits_within(i, first_unit, end_unit);
    settled[i] &= kept;
    map->valid[i] &= kept;
    map->busy[i] &= kept;
    map->dirty[i] &= kept;
  }
}

ISTHMUS_PAGED_OPERATIONS(paged, isthmus::paged_map)
