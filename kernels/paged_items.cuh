// Operations that are built into paged and budgeted arrays, for maps of both.
//
// Launch: any grid of whole warps. CPU reference: tests/device/test_paged_array.py.
#pragma once

#include "paged_lane.cuh"

/// The launch's first unit of this warp's first round, and how far it is to the next: all lanes of a
/// warp make the same number of rounds, because they work together.
__device__ inline uint64_t isthmus_first_of_warp() {
  return isthmus_lane() / kIsthmusWarpLanes * kIsthmusWarpLanes;
}
__device__ inline uint64_t isthmus_lane_of_warp() { return isthmus_lane() % kIsthmusWarpLanes; }

/// The bits of word `index` that mean units from `first_unit` to `end_unit`.
__device__ inline uint32_t isthmus_bits_within(uint64_t index, uint64_t first_unit,
                                               uint64_t end_unit) {
  const uint64_t begin = index * 32, end = begin + 32;
  uint32_t bits = ~uint32_t(0);
  if (first_unit > begin) bits &= ~uint32_t(0) << (first_unit - begin);
  if (end_unit < end) bits &= ~uint32_t(0) >> (end - end_unit);
  return bits;
}

/// An index of 4 or 8 bytes; a negative one becomes larger than any array.
__device__ inline uint64_t isthmus_index(const uint8_t* indices, uint64_t i, uint32_t index_bytes) {
  return index_bytes == 4
             ? static_cast<uint64_t>(int64_t(reinterpret_cast<const int32_t*>(indices)[i]))
             : reinterpret_cast<const uint64_t*>(indices)[i];
}

/// Writes dirty units from `first_unit` to before `end_unit` to the host's memory.
template <typename Map>
__device__ inline void isthmus_flush_units(const Map& map, uint64_t first_unit, uint64_t end_unit) {
  const IsthmusPagedMachine machine{};
  for (uint64_t i = first_unit + isthmus_first_of_warp(); i < end_unit; i += isthmus_num_lanes()) {
    const uint64_t unit = i + isthmus_lane_of_warp();
    const isthmus::paged::place at = isthmus::paged::place_of(uint32_t(unit));
    const bool dirty = unit < end_unit && (map.dirty[at.index] & at.bit) != 0;
    const auto all = machine.together(isthmus::paged::kEntering);
    const auto chosen = machine.ballot(all, dirty);
    if (chosen == 0) continue;
    isthmus_write_back(machine, map, all, chosen, uint32_t(unit), dirty);
    machine.sync(all);
    // Not the word at once: its other units may be another warp's.
    if (dirty) machine.and_relaxed(map.dirty + at.index, ~at.bit);
    if (isthmus_lane_of_warp() == 0)
      machine.add(map.counters + isthmus::paged::kWrittenBack, machine.count(chosen));
  }
}

/// Reads positions begin .. end - 1 of the units that the device holds from the host's memory again.
/// Units that are being fetched now are waited for: who fetches one may have read it before.
template <typename Map>
__device__ inline void isthmus_refresh_bytes(const Map& map, uint64_t begin, uint64_t end) {
  const IsthmusPagedMachine machine{};
  const uint64_t end_unit = ((end - 1) >> map.unit_shift) + 1;
  const uint64_t num_warps = isthmus_num_lanes() / kIsthmusWarpLanes;
  for (uint64_t unit = (begin >> map.unit_shift) + isthmus_lane() / kIsthmusWarpLanes;
       unit < end_unit; unit += num_warps) {
    const isthmus::paged::place at = isthmus::paged::place_of(uint32_t(unit));
    if ((machine.relaxed(map.busy + at.index) & at.bit) == 0) continue;
    machine.await(machine.together(isthmus::paged::kEntering), true, map.valid + at.index, at.bit);
    uint8_t* const held = isthmus_origin_of(map, uint32_t(unit));
    if (held == nullptr) continue;
    isthmus::paged::extent part = isthmus::paged::extent_of(map, uint32_t(unit));
    if (part.begin < begin) part.begin = begin;
    if (part.end > end) part.end = end;
    isthmus_read_part(machine, held, map.host, part);
  }
}

/// Finds the first index that no item has.
__device__ inline void isthmus_check_indices(const uint8_t* indices, uint32_t index_bytes,
                                             uint64_t count, uint64_t num_items,
                                             unsigned long long* first_wrong) {
  for (uint64_t i = isthmus_lane(); i < count; i += isthmus_num_lanes())
    if (isthmus_index(indices, i, index_bytes) >= num_items)
      atomicMin(first_wrong, static_cast<unsigned long long>(i));
}

template <typename Item, typename Map>
__device__ inline void isthmus_gather_items(const Map& map, const uint8_t* indices,
                                            uint32_t index_bytes, uint64_t count,
                                            uint64_t row_items, Item* target) {
  IsthmusPaged<Item, Map> array(map);
  for (uint64_t i = isthmus_lane(); i < count * row_items; i += isthmus_num_lanes()) {
    const uint64_t row = row_items == 1 ? i : i / row_items;
    const uint64_t first = isthmus_index(indices, row, index_bytes) * row_items;
    target[i] = array.load(first + (i - row * row_items));
  }
}

template <typename Item, typename Map>
__device__ inline void isthmus_scatter_items(const Map& map, const uint8_t* indices,
                                             uint32_t index_bytes, uint64_t count,
                                             const Item* source) {
  IsthmusPaged<Item, Map> array(map);
  for (uint64_t i = isthmus_lane(); i < count; i += isthmus_num_lanes())
    array.store(isthmus_index(indices, i, index_bytes), source[i]);
}

template <typename Item, typename Map>
__device__ inline void isthmus_write_items(const Map& map, uint64_t first, uint64_t count,
                                           const Item* source) {
  IsthmusPaged<Item, Map> array(map);
  // Chunks end where units do: else no unit would be overwritten as a whole.
  const uint64_t chunk = (uint64_t(1) << map.unit_shift) / sizeof(Item);
  const uint64_t before = (map.first_byte / sizeof(Item) + first) % chunk;
  const uint64_t num_chunks = (before + count + chunk - 1) / chunk;
  const uint64_t num_warps = isthmus_num_lanes() / kIsthmusWarpLanes;
  for (uint64_t i = isthmus_lane() / kIsthmusWarpLanes; i < num_chunks; i += num_warps) {
    const uint64_t begin = i == 0 ? 0 : i * chunk - before;
    const uint64_t end = (i + 1) * chunk - before < count ? (i + 1) * chunk - before : count;
    auto items = array.overwrite(first + begin, end - begin);
    for (uint64_t j = isthmus_lane_of_warp(); j < items.size(); j += kIsthmusWarpLanes)
      items[j] = source[begin + j];
  }
}

/// Calls `call` for items of a size; ISTHMUS_ITEM is the type.
#define ISTHMUS_FOR_ITEMS(item_bytes, call) \
  switch (item_bytes) {                     \
    case 1: {                               \
      using ISTHMUS_ITEM = uint8_t;         \
      call;                                 \
      break;                                \
    }                                       \
    case 2: {                               \
      using ISTHMUS_ITEM = unsigned short;  \
      call;                                 \
      break;                                \
    }                                       \
    case 4: {                               \
      using ISTHMUS_ITEM = uint32_t;        \
      call;                                 \
      break;                                \
    }                                       \
    case 8: {                               \
      using ISTHMUS_ITEM = uint64_t;        \
      call;                                 \
      break;                                \
    }                                       \
    default: {                              \
      using ISTHMUS_ITEM = uint4;           \
      call;                                 \
      break;                                \
    }                                       \
  }

/// What is made of all items. The host combines blocks in the same way.
enum IsthmusReduction { kIsthmusSum, kIsthmusLeast, kIsthmusGreatest };

/// A NaN stays, as in NumPy.
template <typename Number>
__device__ inline Number isthmus_combined(Number a, Number b, uint32_t operation) {
  if (operation == kIsthmusSum) return a + b;
  const bool takes_b = operation == kIsthmusLeast ? b < a : b > a;
  return takes_b || b != b ? b : a;
}

/// Each block's result to results[block], and the number of blocks behind them.
template <typename Item, typename Number, typename Map>
__device__ inline void isthmus_reduce_items(const Map& map, uint64_t first, uint64_t count,
                                            uint32_t operation, Number* results,
                                            uint64_t* num_results) {
  __shared__ Number lanes[256];
  IsthmusPaged<Item, Map> array(map);
  const uint64_t unit_items = (uint64_t(1) << map.unit_shift) / sizeof(Item);
  const uint64_t chunk = unit_items * sizeof(Item) < 4096 ? 4096 / sizeof(Item) : unit_items;
  const uint64_t stride = isthmus_num_lanes() / kIsthmusWarpLanes * chunk;
  // Of the first item any number may be made, but no sum.
  Number own = operation == kIsthmusSum ? Number(0) : Number(array.load(first));
  for (uint64_t i = isthmus_lane() / kIsthmusWarpLanes * chunk; i < count; i += stride) {
    auto items = array.span(first + i, count - i < chunk ? count - i : chunk);
    for (uint64_t j = isthmus_lane_of_warp(); j < items.size(); j += kIsthmusWarpLanes)
      own = isthmus_combined(own, Number(items[j]), operation);
  }
  lanes[threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned int i = 1; i < blockDim.x; i++) own = isthmus_combined(own, lanes[i], operation);
  results[blockIdx.x] = own;
  if (blockIdx.x == 0) *num_results = gridDim.x;
}

/// The same for items of a kind: 0 float, 1 double, 2 int32, 3 int64.
template <typename Map>
__device__ inline void isthmus_reduce(const Map& map, uint64_t first, uint64_t count, uint32_t kind,
                                      uint32_t operation, void* results, uint64_t* num_results) {
  double* const reals = static_cast<double*>(results);
  int64_t* const integers = static_cast<int64_t*>(results);
  if (kind == 0)
    isthmus_reduce_items<float>(map, first, count, operation, reals, num_results);
  else if (kind == 1)
    isthmus_reduce_items<double>(map, first, count, operation, reals, num_results);
  else if (kind == 2)
    isthmus_reduce_items<int32_t>(map, first, count, operation, integers, num_results);
  else
    isthmus_reduce_items<int64_t>(map, first, count, operation, integers, num_results);
}

/// The kernels that maps of both kinds have: isthmus_paged_* and isthmus_budgeted_*.
/// cpp/emulator/CMakeLists.txt knows this name and theirs, too.
///
/// flush        writes dirty units to the host's memory; no other launch stores to them meanwhile
/// refresh      reads positions begin .. end - 1 again, as far as they are held; no other launch uses them
/// check        finds the first index that no item has, whose position is *first_wrong; `count` before
/// gather       target[i] = row indices[i] of an array of rows; indices: [count] of index_bytes (4 or 8),
///              each of them checked; row_items: of a row; target: [count * row_items] of item_bytes (1,
///              2, 4, 8 or 16)
/// scatter      array[indices[i]] = source[i]
/// write        array[first + i] = source[i]: units that lie within the range aren't fetched
/// reduce       the sum, the least or the greatest of items first .. first + count - 1, count > 0; kind: 0
///              float, 1 double, 2 int32, 3 int64; results: doubles, or int64, [blocks]
#define ISTHMUS_PAGED_OPERATIONS(stem, Map)                                                       \
  extern "C" __global__ void isthmus_##stem##_flush(const Map* map, uint64_t first_unit,          \
                                                    uint64_t end_unit) {                          \
    isthmus_flush_units(*map, first_unit, end_unit);                                              \
  }                                                                                               \
  extern "C" __global__ void isthmus_##stem##_refresh(const Map* map, uint64_t begin,             \
                                                      uint64_t end) {                             \
    isthmus_refresh_bytes(*map, begin, end);                                                      \
  }                                                                                               \
  extern "C" __global__ void isthmus_##stem##_check(const uint8_t* indices, uint32_t index_bytes, \
                                                    uint64_t count, uint64_t num_items,           \
                                                    unsigned long long* first_wrong) {            \
    isthmus_check_indices(indices, index_bytes, count, num_items, first_wrong);                   \
  }                                                                                               \
  extern "C" __global__ void __launch_bounds__(256, 3) isthmus_##stem##_gather(                   \
      const Map* map, const uint8_t* indices, uint32_t index_bytes, uint64_t count,               \
      uint64_t row_items, uint8_t* target, uint32_t item_bytes) {                                 \
    ISTHMUS_FOR_ITEMS(item_bytes,                                                                 \
                      isthmus_gather_items(*map, indices, index_bytes, count, row_items,          \
                                           reinterpret_cast<ISTHMUS_ITEM*>(target)))              \
  }                                                                                               \
  extern "C" __global__ void __launch_bounds__(256, 3)                                            \
      isthmus_##stem##_scatter(const Map* map, const uint8_t* indices, uint32_t index_bytes,      \
                               uint64_t count, const uint8_t* source, uint32_t item_bytes) {      \
    ISTHMUS_FOR_ITEMS(item_bytes,                                                                 \
                      isthmus_scatter_items(*map, indices, index_bytes, count,                    \
                                            reinterpret_cast<const ISTHMUS_ITEM*>(source)))       \
  }                                                                                               \
  extern "C" __global__ void __launch_bounds__(256, 3)                                            \
      isthmus_##stem##_write(const Map* map, uint64_t first, uint64_t count,                      \
                             const uint8_t* source, uint32_t item_bytes) {                        \
    ISTHMUS_FOR_ITEMS(                                                                            \
        item_bytes,                                                                               \
        isthmus_write_items(*map, first, count, reinterpret_cast<const ISTHMUS_ITEM*>(source)))   \
  }                                                                                               \
  extern "C" __global__ void __launch_bounds__(256, 3)                                            \
      isthmus_##stem##_reduce(const Map* map, uint64_t first, uint64_t count, uint32_t kind,      \
                              uint32_t operation, void* results, uint64_t* num_results) {         \
    isthmus_reduce(*map, first, count, kind, operation, results, num_results);                    \
  }
