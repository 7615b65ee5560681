// Operations on a paged array: what the host's side does with its units, and what is built in.
//
// Launch: any grid of whole warps, blocks of at most 256 lanes. A paged array and its states: isthmus/paged_array.cuh.
// CPU reference: tests/device/test_paged_array.py.
#include "paged_items.cuh"

/// Lets later launches know without any order what is valid now.
///
/// all_settled  not 0; becomes 0 if a unit isn't valid
extern "C" __global__ void isthmus_paged_settle(const isthmus::paged_map* map, uint32_t* settled,
                                                uint32_t* all_settled) {
  const IsthmusPagedMachine machine{};
  const uint64_t num_units = map->num_units(), num_words = (num_units + 31) / 32;
  for (uint64_t i = isthmus_lane(); i < num_words; i += isthmus_num_lanes()) {
    settled[i] = machine.acquire(map->valid + i);
    const bool whole = settled[i] == isthmus_bits_within(i, 0, num_units);
    if (!whole && machine.relaxed(all_settled) != 0) machine.and_relaxed(all_settled, 0);
  }
}

/// Makes the units from `first_unit` to before `end_unit` valid that are absent. Warps fetch what is
/// next to each other, 1 KiB each at a time: the link is as quick then as for a stream in order.
///
/// how          an isthmus::paged::request: kNamed fetches them, kOverwritten doesn't
extern "C" __global__ void __launch_bounds__(256, 3)
    isthmus_paged_make_valid(const isthmus::unit_map* map, uint64_t first_unit, uint64_t end_unit,
                             uint32_t how) {
  const IsthmusPagedMachine machine{};
  const auto request = isthmus::paged::request(how);
  uint64_t at_once = kIsthmusWarpLanes;
  if (request != isthmus::paged::kOverwritten && (at_once << map->unit_shift) > 1024)
    at_once = map->unit_shift < 10 ? 1024U >> map->unit_shift : 1;
  const uint64_t warp = isthmus_first_of_warp() / kIsthmusWarpLanes;
  const uint64_t num_warps = isthmus_num_lanes() / kIsthmusWarpLanes;
  for (uint64_t i = first_unit + warp * at_once; i < end_unit; i += num_warps * at_once) {
    const uint64_t unit = i + isthmus_lane_of_warp();
    const bool wanted = isthmus_lane_of_warp() < at_once && unit < end_unit;
    isthmus::paged::make_valid(machine, *map, machine.together(isthmus::paged::kEntering),
                               uint32_t(unit), wanted, request);
  }
}

/// Makes units absent. No other launch uses the array meanwhile.
extern "C" __global__ void isthmus_paged_invalidate(const isthmus::paged_map* map,
                                                    uint32_t* settled, uint32_t* all_settled,
                                                    uint64_t first_unit, uint64_t end_unit) {
  if (isthmus_lane() == 0) *all_settled = 0;
  const uint64_t end_word = (end_unit + 31) / 32;
  for (uint64_t i = first_unit / 32 + isthmus_lane(); i < end_word; i += isthmus_num_lanes()) {
    const uint32_t kept = ~isthmus_bits_within(i, first_unit, end_unit);
    settled[i] &= kept;
    map->valid[i] &= kept;
    map->busy[i] &= kept;
    map->dirty[i] &= kept;
  }
}

/// Writes dirty units to the host's memory. No other launch stores to the array meanwhile. A warp
/// has a whole word of bits, so that no two write one word.
extern "C" __global__ void isthmus_paged_flush(const isthmus::paged_map* map) {
  isthmus_flush_units(*map);
}

/// Finds the first index that no item has.
///
/// first_wrong  its position; the caller sets it to `count` before
extern "C" __global__ void isthmus_paged_check(const uint8_t* indices, uint32_t index_bytes,
                                               uint64_t count, uint64_t num_items,
                                               unsigned long long* first_wrong) {
  isthmus_check_indices(indices, index_bytes, count, num_items, first_wrong);
}

/// target[i] = array[indices[i]]
///
/// indices      device, [count] of index_bytes (4 or 8), each of them checked
/// target       device, [count] of item_bytes (1, 2, 4, 8 or 16)
extern "C" __global__ void __launch_bounds__(256, 3)
    isthmus_paged_gather(const isthmus::paged_map* map, const uint8_t* indices,
                         uint32_t index_bytes, uint64_t count, uint8_t* target,
                         uint32_t item_bytes) {
  ISTHMUS_FOR_ITEMS(item_bytes, isthmus_gather_items(*map, indices, index_bytes, count,
                                                     reinterpret_cast<ISTHMUS_ITEM*>(target)))
}

/// array[indices[i]] = source[i]; arguments like isthmus_paged_gather.
extern "C" __global__ void __launch_bounds__(256, 3)
    isthmus_paged_scatter(const isthmus::paged_map* map, const uint8_t* indices,
                          uint32_t index_bytes, uint64_t count, const uint8_t* source,
                          uint32_t item_bytes) {
  ISTHMUS_FOR_ITEMS(item_bytes,
                    isthmus_scatter_items(*map, indices, index_bytes, count,
                                          reinterpret_cast<const ISTHMUS_ITEM*>(source)))
}

/// array[first + i] = source[i]: units that lie within the range aren't fetched.
extern "C" __global__ void __launch_bounds__(256, 3)
    isthmus_paged_write(const isthmus::paged_map* map, uint64_t first, uint64_t count,
                        const uint8_t* source, uint32_t item_bytes) {
  ISTHMUS_FOR_ITEMS(item_bytes, isthmus_write_items(*map, first, count,
                                                    reinterpret_cast<const ISTHMUS_ITEM*>(source)))
}

/// The sum, the least or the greatest of items first .. first + count - 1, count > 0.
///
/// kind         0 float, 1 double, 2 int32, 3 int64: results are doubles, or int64
/// results      device, [blocks]
extern "C" __global__ void __launch_bounds__(256, 3)
    isthmus_paged_reduce(const isthmus::paged_map* map, uint64_t first, uint64_t count,
                         uint32_t kind, uint32_t operation, void* results, uint64_t* num_results) {
  isthmus_reduce(*map, first, count, kind, operation, results, num_results);
}
