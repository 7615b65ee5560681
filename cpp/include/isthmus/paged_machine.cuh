// What paged arrays are made of: the map that a kernel is given, and the lanes of a GPU.
//
// Included by paged_array.cuh and budgeted_array.cuh, which have the reasons.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define ISTHMUS_PAGED_CODE __device__ __forceinline__
#define ISTHMUS_PAGED_SHARED __host__ __device__ __forceinline__
#ifdef ISTHMUS_PAGED_INLINE_MISSES  // quicker if warm, slow to compile: docs/paged.md
#define ISTHMUS_PAGED_APART __device__ __forceinline__
#else
#define ISTHMUS_PAGED_APART __device__ __noinline__  // rare, and else it would be in each load
#endif
#else
#define ISTHMUS_PAGED_CODE inline
#define ISTHMUS_PAGED_APART inline
#define ISTHMUS_PAGED_SHARED inline
#endif

#ifndef ISTHMUS_PAGED_IN_FLIGHT
#define ISTHMUS_PAGED_IN_FLIGHT 2  // 16-byte reads that a lane has on the link at once
#endif

#if defined(ISTHMUS_PAGED_CHECKED) && !defined(__CUDACC_RTC__)
#include <stdio.h>
#endif

namespace isthmus {

/// What a kernel is given of a paged array. The host's side fills it; kernels read it only.
///
/// Positions are bytes. Position 0 lies at or before the first item, on a multiple of 256 bytes in
/// both memories, so that items lie alike in both.
struct paged_map {
  using word = unsigned int;
  using number = unsigned long long;
  static constexpr bool kHasParts = true;  ///< parts_shift may be more than 0

  unsigned char* device;      ///< position 0 in the GPU's memory
  unsigned char* host;        ///< position 0 in host memory, as the GPU addresses it
  word* valid;                ///< a bit for each unit
  word* busy;                 ///< a bit for each unit: it was claimed
  word* dirty;                ///< a bit for each unit: it was stored to
  const word* settled;        ///< the valid bits as they were before the launch: no order needed
  const word* all_settled;    ///< not 0: all of them were set
  word* whole;                ///< not 0: all units are valid, as some stream has found since
  number* counters;           ///< units fetched, units overwritten without a fetch, units written
  number first_byte;          ///< position of the first item, less than 256
  number end_byte;            ///< position after the last item
  unsigned int unit_shift;    ///< a unit, as of the bits, has 1 << unit_shift bytes
  unsigned int array_number;  ///< names the array in messages
  unsigned int parts_shift;   ///< a miss brings an aligned 1 << parts_shift of them

  ISTHMUS_PAGED_SHARED number num_units() const {
    return (end_byte + (number(1) << unit_shift) - 1) >> unit_shift;
  }
  /// Brings units of the lanes in `chosen`, which claimed them. Gives the lanes whose units came.
  template <typename Machine>
  ISTHMUS_PAGED_CODE typename Machine::lanes fill(const Machine& machine,
                                                  typename Machine::lanes mask,
                                                  typename Machine::lanes chosen, unsigned int unit,
                                                  bool overwrite) const {
    if (!overwrite) machine.fetch(*this, mask, chosen, unit);
    return chosen;
  }
};

namespace paged {

using word = paged_map::word;
using number = paged_map::number;

using unit_number = unsigned int;  // an array has less than 2^32 - 1
constexpr unit_number kNoUnit = ~unit_number(0);
enum counter { kFetched, kWhole, kWrittenBack, kInPlace, kEvicted, kHits, kNumCounters };

/// Where lanes find out who is with them. A group of a part of a warp doesn't outlast the call of a
/// function: lanes that return from one at different times weren't brought together again on a GPU
/// (docs/adr/0023-groups-of-lanes.md).
enum meeting {
  kComing,    ///< a lane comes to a unit that some lane of the group may not know
  kFinding,   ///< some lane doesn't
  kEntering,  ///< a unit is missing, or a lane comes to a range of units
  kNoting,    ///< it stores to a unit that it has come to
  kInRange    ///< both, for one unit of a range
};

/// Units begin .. end - 1.
struct unit_run {
  unit_number begin, end;
};

/// Units that the host's side lets a launch make valid: `count` runs, from begin[i] to before end[i].
struct unit_runs {
  static constexpr unsigned int kMaxRuns = 8;
  number count, begin[kMaxRuns], end[kMaxRuns];
  number how[kMaxRuns];  ///< a request: kNamed fetches them, kOverwritten doesn't
};

/// A unit's place in the maps.
struct place {
  unsigned int index;
  word bit;
};
ISTHMUS_PAGED_CODE place place_of(unit_number unit) {
  return {unit >> 5U, word(1) << (unit & 31U)};
}

/// The part of a unit that has items: the first and the last unit may have other bytes.
struct extent {
  number begin, end;
};
ISTHMUS_PAGED_CODE extent extent_of(const paged_map& map, unit_number unit) {
  const number begin = number(unit) << map.unit_shift;
  const number end = begin + (number(1) << map.unit_shift);
  return {begin < map.first_byte ? map.first_byte : begin, end > map.end_byte ? map.end_byte : end};
}

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)

/// Lets the compiler know that memory is neither a block's nor a lane's: pointers out of a map could be,
/// and it would take slower instructions.
template <typename T>
ISTHMUS_PAGED_CODE T* in_global(T* at) {
  __builtin_assume(__isGlobal(at));
  return at;
}

/// Lanes of a warp that run together. `mask` names them; each of them makes the same calls.
struct gpu_machine {
  using lanes = unsigned int;
  ISTHMUS_PAGED_CODE lanes together(meeting) const { return __activemask(); }
  ISTHMUS_PAGED_CODE static bool is_whole(lanes mask) { return mask == ~lanes(0); }
  ISTHMUS_PAGED_CODE unsigned lane() const {
    unsigned index;
    asm("mov.u32 %0, %%laneid;" : "=r"(index));
    return index;
  }
  ISTHMUS_PAGED_CODE static unsigned count(lanes mask) { return __popc(mask); }
  ISTHMUS_PAGED_CODE static unsigned lowest(lanes mask) { return __ffs(mask) - 1; }
  ISTHMUS_PAGED_CODE unsigned rank(lanes mask) const {
    return __popc(mask & ((1U << lane()) - 1U));
  }
  ISTHMUS_PAGED_CODE lanes ballot(lanes mask, bool value) const {
    return __ballot_sync(mask, value);
  }
  ISTHMUS_PAGED_CODE unit_number from_lane(lanes mask, unit_number value, unsigned lane) const {
    return __shfl_sync(mask, value, lane);
  }
  ISTHMUS_PAGED_CODE lanes alike(lanes mask, unit_number value) const {
    return __match_any_sync(mask, value);
  }
  ISTHMUS_PAGED_CODE void sync(lanes mask) const { __syncwarp(mask); }  // orders memory, too
  ISTHMUS_PAGED_CODE word settled(const word* at) const { return *in_global(at); }
  /// Bits that no launch clears while another one sets them, or as note_changed says. Those that were set
  /// lately may be missing: they come from the L1 cache (docs/adr/0025-what-is-held.md).
  ISTHMUS_PAGED_CODE word glance(const word* at) const { return *in_global(at); }
  ISTHMUS_PAGED_CODE word acquire(const word* at) const {
    word value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
  }
  ISTHMUS_PAGED_CODE word relaxed(const word* at) const {
    word value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
  }
  ISTHMUS_PAGED_CODE number relaxed(const number* at) const {
    number value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
  }
  ISTHMUS_PAGED_CODE word or_relaxed(word* at, word bits) const {
    return atomicOr(in_global(at), bits);
  }
  ISTHMUS_PAGED_CODE void or_release(word* at, word bits) const {
    asm volatile("red.release.gpu.global.or.b32 [%0], %1;" : : "l"(at), "r"(bits) : "memory");
  }
  ISTHMUS_PAGED_CODE void add(number* at, number increment) const {
    atomicAdd(in_global(at), increment);
  }
  ISTHMUS_PAGED_CODE void and_relaxed(word* at, word bits) const { atomicAnd(in_global(at), bits); }
  ISTHMUS_PAGED_CODE word exchange(word* at, word value) const {
    return atomicExch(in_global(at), value);
  }
  ISTHMUS_PAGED_CODE number take(number* at, number count) const {
    return atomicAdd(in_global(at), count);
  }
  template <typename Value>
  ISTHMUS_PAGED_CODE Value plain(const Value* at) const {
    return *in_global(at);
  }
  template <typename Value>
  ISTHMUS_PAGED_CODE void set(Value* at, Value value) const {
    *in_global(at) = value;
  }
  ISTHMUS_PAGED_CODE void note_in_place(const void*, number) const {}  // the emulated driver counts
  /// Waits until `bit` is set, if `missing`, and gives the word. Another group of lanes sets it, and
  /// waits for nobody.
  ISTHMUS_PAGED_CODE word await(lanes mask, bool missing, const word* at, word bit) const {
    // Few waits: those of a large unit's lanes would slow down who fetches it.
    for (unsigned pause_ns = 256; missing && (relaxed(at) & bit) == 0;) {
      __nanosleep(pause_ns);
      pause_ns = pause_ns < 2048 ? pause_ns * 2 : pause_ns;
    }
    const word held = missing ? acquire(at) : 0;
    sync(mask);
    return held;
  }
  template <typename T>
  ISTHMUS_PAGED_CODE T read(const T* at) const {
    return *in_global(at);
  }
  template <typename T>
  ISTHMUS_PAGED_CODE void write(T* at, T value) const {
    *in_global(at) = value;
  }

  /// Copies bytes first, first + step .. before `end`, 16 at a time. Few reads are on the link at once:
  /// each costs every calling kernel four registers, and so warps that fit.
  template <unsigned kInFlight>
  ISTHMUS_PAGED_CODE void copy_pieces(unsigned char* target, const unsigned char* source,
                                      unsigned first, unsigned end, unsigned step) const {
#pragma unroll 1
    for (; first < end; first += kInFlight * step) {
      uint4 bytes[kInFlight];
#pragma unroll
      for (unsigned i = 0; i < kInFlight; i++)
        if (first + i * step < end)
          bytes[i] = __ldcs(reinterpret_cast<const uint4*>(source + first + i * step));
#pragma unroll
      for (unsigned i = 0; i < kInFlight; i++)
        if (first + i * step < end)
          *in_global(reinterpret_cast<uint4*>(target + first + i * step)) = bytes[i];
    }
  }
  /// Copies the items of one unit, all lanes of `mask` together.
  template <unsigned kInFlight>
  ISTHMUS_PAGED_CODE void copy_unit(const paged_map& map, lanes mask, unit_number unit,
                                    unsigned char* target, const unsigned char* source) const {
    const number begin = number(unit) << map.unit_shift;
    const unsigned size = 1U << map.unit_shift;
    // Of the unit, what has items in whole pieces of 16 bytes.
    const unsigned first = begin == 0 ? unsigned(map.first_byte + 15) / 16 * 16 : 0;
    const unsigned end =
        map.end_byte - begin < size ? unsigned(map.end_byte - begin) / 16 * 16 : size;
    copy_pieces<kInFlight>(target + begin, source + begin, first + rank(mask) * 16, end,
                           count(mask) * 16);
    if ((begin == 0 || end != size) && lane() == lowest(mask)) copy_ends(map, unit, target, source);
  }
  /// Copies what is left of the array's first and last 16 bytes, if they are in the unit.
  ISTHMUS_PAGED_CODE void copy_ends(const paged_map& map, unit_number unit, unsigned char* target,
                                    const unsigned char* source) const {
    const extent own = extent_of(map, unit);
    const number first_whole = (own.begin + 15) / 16 * 16, end_whole = own.end / 16 * 16;
#pragma unroll 1
    for (number i = own.begin; i < first_whole && i < own.end; i++)
      *in_global(target + i) = *in_global(source + i);
#pragma unroll 1
    for (number i = end_whole < first_whole ? first_whole : end_whole; i < own.end; i++)
      *in_global(target + i) = *in_global(source + i);
  }
  /// Copies units of the lanes in `chosen`.
  ISTHMUS_PAGED_CODE void copy(const paged_map& map, lanes mask, lanes chosen, unit_number unit,
                               unsigned char* target, const unsigned char* source) const {
    for (; chosen != 0; chosen &= chosen - 1)
      copy_unit<ISTHMUS_PAGED_IN_FLIGHT>(map, mask, from_lane(mask, unit, lowest(chosen)), target,
                                         source);
  }
  ISTHMUS_PAGED_CODE void fetch(const paged_map& map, lanes mask, lanes chosen,
                                unit_number unit) const {
    copy(map, mask, chosen, unit, map.device, map.host);
  }
  /// Fetches units to their lanes' frames. Map: budgeted_map.
  template <typename Map>
  ISTHMUS_PAGED_CODE void bring(const Map& map, lanes mask, lanes chosen, unit_number unit,
                                word frame) const {
    for (; chosen != 0; chosen &= chosen - 1) {
      const unsigned owner = lowest(chosen);
      unsigned char* const frames =
          map.origin(from_lane(mask, frame, owner), from_lane(mask, unit, owner));
      copy(map, mask, 1U << owner, unit, frames, map.host);
    }
  }
  /// Writes units from their lanes' frames to the host's memory.
  template <typename Map>
  ISTHMUS_PAGED_CODE void send(const Map& map, lanes mask, lanes chosen, unit_number unit,
                               word frame) const {
    for (; chosen != 0; chosen &= chosen - 1) {
      const unsigned owner = lowest(chosen);
      const unsigned char* const frames =
          map.origin(from_lane(mask, frame, owner), from_lane(mask, unit, owner));
      copy(map, mask, 1U << owner, unit, map.host, frames);
    }
  }

#ifdef ISTHMUS_PAGED_CHECKED
  ISTHMUS_PAGED_CODE void require(const paged_map& map, number i, number size) const {
    if (i < size) return;
    printf("isthmus: index %llu is out of range: paged array %u has %llu items\n", i,
           map.array_number, size);
    __trap();
  }
#endif
};

#else
struct gpu_machine;  // host code names its own
template <typename T>
T* in_global(T* at) {
  return at;
}
#endif

}  // namespace paged
}  // namespace isthmus
