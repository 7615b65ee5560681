// What the kernels of paged arrays run on: a GPU's warps, or the emulated driver's one lane.
#pragma once

#include "portable.cuh"

#include "isthmus/budgeted_array.cuh"

#ifdef ISTHMUS_HOST_KERNELS

/// The one lane of a launch on the emulated driver. Kernels of other streams run beside it, so that
/// the maps are read and written atomically.
struct IsthmusPagedLane {
  using lanes = unsigned int;
  using word = isthmus::paged::word;
  using number = isthmus::paged::number;
  using unit_number = isthmus::paged::unit_number;

  static lanes together() { return 1; }
  static unsigned lane() { return 0; }
  static unsigned count(lanes mask) { return mask; }
  static unsigned lowest(lanes) { return 0; }
  static unsigned rank(lanes) { return 0; }
  static lanes ballot(lanes, bool value) { return value ? 1 : 0; }
  static unit_number from_lane(lanes, unit_number value, unsigned) { return value; }
  static lanes alike(lanes mask, unit_number) { return mask; }
  static void sync(lanes) {}

  static word settled(const word* at) { return relaxed(at); }
  static word acquire(const word* at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
  static word relaxed(const word* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
  static word or_relaxed(word* at, word bits) {
    return __atomic_fetch_or(at, bits, __ATOMIC_RELAXED);
  }
  static void or_release(word* at, word bits) { __atomic_fetch_or(at, bits, __ATOMIC_RELEASE); }
  static void add(number* at, number increment) {
    __atomic_fetch_add(at, increment, __ATOMIC_RELAXED);
  }
  static void await(lanes, bool missing, const word* at, word bit) {
    while (missing && (acquire(at) & bit) == 0) isthmus_pause();
  }

  template <typename T>
  static T read(const T* at) {
    return *at;
  }
  template <typename T>
  static void write(T* at, T value) {
    *at = value;
  }

  static void fetch(const isthmus::paged_map& map, lanes, lanes, unit_number unit) {
    const isthmus::paged::extent own = isthmus::paged::extent_of(map, unit);
    isthmus_note_read(map.host + own.begin, own.end - own.begin);
    std::copy_n(map.host + own.begin, own.end - own.begin, map.device + own.begin);
  }

  static void and_relaxed(word* at, word bits) { __atomic_fetch_and(at, bits, __ATOMIC_RELAXED); }
  static word exchange(word* at, word value) {
    return __atomic_exchange_n(at, value, __ATOMIC_RELAXED);
  }
  static number take(number* at, number count) {
    return __atomic_fetch_add(at, count, __ATOMIC_RELAXED);
  }
  static number compare_exchange(number* at, number expected, number value) {
    __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
  }
  template <typename Value>
  static Value plain(const Value* at) {
    return *at;
  }
  template <typename Value>
  static void set(Value* at, Value value) {
    *at = value;
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

#else

using IsthmusPagedMachine = isthmus::paged::gpu_machine;
constexpr uint64_t kIsthmusWarpLanes = 32;

#endif

/// Writes the units of the lanes in `chosen` to the host's memory, all lanes of `mask` together.
__device__ inline void isthmus_write_back(const IsthmusPagedMachine& machine,
                                          const isthmus::paged_map& map,
                                          IsthmusPagedMachine::lanes mask,
                                          IsthmusPagedMachine::lanes chosen,
                                          isthmus::paged::unit_number unit) {
#ifdef ISTHMUS_HOST_KERNELS
  (void)machine, (void)mask, (void)chosen;
  const isthmus::paged::extent own = isthmus::paged::extent_of(map, unit);
  isthmus_note_write(map.host + own.begin, own.end - own.begin);
  std::copy_n(map.device + own.begin, own.end - own.begin, map.host + own.begin);
#else
  machine.copy(map, mask, chosen, unit, map.host, map.device);
#endif
}

/// The array of a map, in a kernel of this folder.
template <typename Item, typename Map>
struct IsthmusArrayOf;
template <typename Item>
struct IsthmusArrayOf<Item, isthmus::paged_map> {
  using Array = isthmus::paged_array<Item, IsthmusPagedMachine>;
};
template <typename Item>
struct IsthmusArrayOf<Item, isthmus::budgeted_map> {
  using Array = isthmus::budgeted_array<Item, IsthmusPagedMachine>;
};
template <typename Item, typename Map>
using IsthmusPaged = typename IsthmusArrayOf<Item, Map>::Array;
