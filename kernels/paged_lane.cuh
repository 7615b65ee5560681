// What the kernels of paged arrays run on: a GPU's warps, or the emulated driver's one lane.
#pragma once

#include "portable.cuh"

#include "isthmus/budgeted_array.cuh"
#include "isthmus/held_array.cuh"

#ifdef ISTHMUS_HOST_KERNELS

#include "paged_host.cuh"

/// The one lane of a launch on the emulated driver. Kernels of other streams run beside it, so that
/// the maps are read and written atomically.
struct IsthmusPagedLane : isthmus::paged::one_lane, isthmus::paged::host_words {
  using word = isthmus::paged::word;
  using number = isthmus::paged::number;
  using unit_number = isthmus::paged::unit_number;

  static word settled(const word* at) { return relaxed(at); }
  static word glance(const word* at) { return relaxed(at); }
  static word await(lanes, bool missing, const word* at, word bit) {
    if (!missing) return 0;
    word held = acquire(at);
    for (; (held & bit) == 0; held = acquire(at)) isthmus_pause();
    return held;
  }

  static void fetch(const isthmus::paged_map& map, lanes, lanes, unit_number unit) {
    const isthmus::paged::extent own = isthmus::paged::extent_of(map, unit);
    isthmus_note_read(map.host + own.begin, own.end - own.begin);
    std::copy_n(map.host + own.begin, own.end - own.begin, map.device + own.begin);
  }
  static void note_in_place(const void* at, number size_bytes) {
    isthmus_note_read(at, size_bytes);
  }
  static void bring(const isthmus::budgeted_map& map, lanes, lanes, unit_number unit, word frame) {
    const isthmus::paged::extent own = isthmus::paged::extent_of(map, unit);
    isthmus_note_read(map.host + own.begin, own.end - own.begin);
    std::copy_n(map.host + own.begin, own.end - own.begin, map.origin(frame, unit) + own.begin);
  }
  static void send(const isthmus::budgeted_map& map, lanes, lanes, unit_number unit, word frame) {
    const isthmus::paged::extent own = isthmus::paged::extent_of(map, unit);
    isthmus_note_write(map.host + own.begin, own.end - own.begin);
    std::copy_n(map.origin(frame, unit) + own.begin, own.end - own.begin, map.host + own.begin);
  }
};

using IsthmusPagedMachine = IsthmusPagedLane;
constexpr uint64_t kIsthmusWarpLanes = 1;

/// True if all lanes of the block say so.
inline bool isthmus_block_agrees(bool said) { return said; }

#else

using IsthmusPagedMachine = isthmus::paged::gpu_machine;
constexpr uint64_t kIsthmusWarpLanes = 32;

__device__ inline bool isthmus_block_agrees(bool said) { return __syncthreads_and(said) != 0; }

#endif

/// Writes the units of the lanes in `chosen` to the host's memory, all lanes of `mask` together.
///
/// own          this lane is one of them
__device__ inline void isthmus_write_back(const IsthmusPagedMachine& machine,
                                          const isthmus::paged_map& map,
                                          IsthmusPagedMachine::lanes mask,
                                          IsthmusPagedMachine::lanes chosen,
                                          isthmus::paged::unit_number unit, bool) {
#ifdef ISTHMUS_HOST_KERNELS
  (void)machine, (void)mask, (void)chosen;
  const isthmus::paged::extent own = isthmus::paged::extent_of(map, unit);
  isthmus_note_write(map.host + own.begin, own.end - own.begin);
  std::copy_n(map.device + own.begin, own.end - own.begin, map.host + own.begin);
#else
  machine.copy(map, mask, chosen, unit, map.host, map.device);
#endif
}
__device__ inline void isthmus_write_back(const IsthmusPagedMachine& machine,
                                          const isthmus::budgeted_map& map,
                                          IsthmusPagedMachine::lanes mask,
                                          IsthmusPagedMachine::lanes chosen,
                                          isthmus::paged::unit_number unit, bool own) {
  machine.send(map, mask, chosen, unit, own ? map.frame_of[unit] : 0);
}

/// Where position 0 would be if the device's memory around a valid unit were contiguous; null if the
/// unit's items are in the host's memory.
__device__ inline uint8_t* isthmus_origin_of(const isthmus::paged_map& map,
                                             isthmus::paged::unit_number) {
  return map.device;
}
__device__ inline uint8_t* isthmus_origin_of(const isthmus::budgeted_map& map,
                                             isthmus::paged::unit_number unit) {
  const isthmus::paged::place at = isthmus::paged::place_of(unit);
  return (map.in_place[at.index] & at.bit) != 0 ? nullptr : map.origin(map.frame_of[unit], unit);
}

/// Copies a part of a unit from the host's memory, all lanes of a warp together.
__device__ inline void isthmus_read_part(const IsthmusPagedMachine& machine, uint8_t* target,
                                         const uint8_t* source,
                                         const isthmus::paged::extent& part) {
#ifdef ISTHMUS_HOST_KERNELS
  (void)machine;
  isthmus_note_read(source + part.begin, part.end - part.begin);
  std::copy_n(source + part.begin, part.end - part.begin, target + part.begin);
#else
  const uint64_t first_piece = (part.begin + 15) / 16 * 16, end_piece = part.end / 16 * 16;
  const bool has_pieces = first_piece < end_piece;
  const unsigned lane = machine.lane();
  const uint64_t before_end = has_pieces ? first_piece : part.end;
  for (uint64_t i = part.begin + lane; i < before_end; i += kIsthmusWarpLanes)
    target[i] = source[i];
  if (!has_pieces) return;
  machine.copy_pieces<ISTHMUS_PAGED_IN_FLIGHT>(target + first_piece, source + first_piece,
                                               lane * 16, unsigned(end_piece - first_piece),
                                               unsigned(kIsthmusWarpLanes) * 16);
  for (uint64_t i = end_piece + lane; i < part.end; i += kIsthmusWarpLanes) target[i] = source[i];
#endif
}

/// The array of a map, in a kernel of this folder.
template <typename Map>
struct IsthmusArrayOf;
template <>
struct IsthmusArrayOf<isthmus::paged_map> {
  static constexpr bool kHasFrames = false;
  template <typename Item>
  using Array = isthmus::paged_array<Item, IsthmusPagedMachine>;
};
template <>
struct IsthmusArrayOf<isthmus::budgeted_map> {
  static constexpr bool kHasFrames = true;
  template <typename Item>
  using Array = isthmus::budgeted_array<Item, IsthmusPagedMachine>;
};
template <typename Item, typename Map>
using IsthmusPaged = typename IsthmusArrayOf<Map>::template Array<Item>;
template <typename Item>
using IsthmusHeld = isthmus::held_array<Item, IsthmusPagedMachine>;
