// A paged array: an array in host memory of which the GPU keeps the parts that its kernels touch.
//
// For nvcc and NVRTC, compute capability 7.0 or later; it needs no other file of Isthmus. The host's
// side, isthmus.PagedArray, makes a paged_map, which is a kernel's argument. In the kernel:
//
//   __global__ void sum(const isthmus::paged_map* map, float* result) {
//     isthmus::paged_array<float> array(*map);
//     atomicAdd(result, array.load(blockIdx.x * blockDim.x + threadIdx.x));
//   }
//
// Units of 256 bytes to 64 KiB are absent (the host's bytes count), busy (one group of lanes fetches
// it from mapped host memory, others wait), or valid (the device's bytes count), and dirty if they
// were stored to. Within a launch a unit goes only forward; invalidate() and flush() are ordered with
// kernels by the stream. Reasons and memory orders: docs/adr/0019-paged-arrays.md. cpp/tests/paged
// explores every interleaving of this code for two and three warps.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define ISTHMUS_PAGED_CODE __device__ __forceinline__
#define ISTHMUS_PAGED_SHARED __host__ __device__ __forceinline__
#else
#define ISTHMUS_PAGED_CODE inline
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

  unsigned char* device;      ///< position 0 in the GPU's memory
  unsigned char* host;        ///< position 0 in host memory, as the GPU addresses it
  word* valid;                ///< a bit for each unit
  word* busy;                 ///< a bit for each unit: it was claimed
  word* dirty;                ///< a bit for each unit: it was stored to
  const word* settled;        ///< the valid bits as they were before the launch: no order needed
  number* counters;           ///< units fetched, units overwritten without a fetch, units written
  number first_byte;          ///< position of the first item, less than 256
  number end_byte;            ///< position after the last item
  unsigned int unit_shift;    ///< a unit has 1 << unit_shift bytes
  unsigned int array_number;  ///< names the array in messages

  ISTHMUS_PAGED_SHARED number num_units() const {
    return (end_byte + (number(1) << unit_shift) - 1) >> unit_shift;
  }
};

/// Items that the GPU holds: plain memory, as long as the launch lasts.
template <typename T>
struct paged_span {
  T* data;
  unsigned long long count;

  ISTHMUS_PAGED_CODE T& operator[](unsigned long long i) const { return data[i]; }
  ISTHMUS_PAGED_CODE T* begin() const { return data; }
  ISTHMUS_PAGED_CODE T* end() const { return data + count; }
  ISTHMUS_PAGED_CODE unsigned long long size() const { return count; }
};

namespace paged {

using word = paged_map::word;
using number = paged_map::number;

using unit_number = unsigned int;  // an array has less than 2^32 - 1
constexpr unit_number kNoUnit = ~unit_number(0);
constexpr number kNowhere = ~number(0);
enum counter { kFetched, kOverwritten, kWrittenBack, kNumCounters };

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

/// Lanes of a warp that run together. `mask` names them; each of them makes the same calls.
struct gpu_machine {
  using lanes = unsigned int;
  ISTHMUS_PAGED_CODE lanes together() const { return __activemask(); }
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
  ISTHMUS_PAGED_CODE word settled(const word* at) const { return *at; }
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
  ISTHMUS_PAGED_CODE word or_relaxed(word* at, word bits) const { return atomicOr(at, bits); }
  ISTHMUS_PAGED_CODE void or_release(word* at, word bits) const {
    asm volatile("red.release.gpu.global.or.b32 [%0], %1;" : : "l"(at), "r"(bits) : "memory");
  }
  ISTHMUS_PAGED_CODE void add(number* at, number increment) const { atomicAdd(at, increment); }
  /// Waits until `bit` is set, if `missing`. Another group of lanes sets it, and waits for nobody.
  ISTHMUS_PAGED_CODE void await(lanes mask, bool missing, const word* at, word bit) const {
    // Few waits: those of a large unit's lanes would slow down who fetches it.
    for (unsigned pause_ns = 256; missing && (relaxed(at) & bit) == 0;) {
      __nanosleep(pause_ns);
      pause_ns = pause_ns < 2048 ? pause_ns * 2 : pause_ns;
    }
    if (missing) acquire(at);
    sync(mask);
  }
  template <typename T>
  ISTHMUS_PAGED_CODE T read(const T* at) const {
    return *at;
  }
  template <typename T>
  ISTHMUS_PAGED_CODE void write(T* at, T value) const {
    *at = value;
  }

  /// Copies units of the lanes in `chosen`. A lane issues several reads before its first write.
  ISTHMUS_PAGED_CODE void copy_units(const paged_map& map, lanes mask, lanes chosen,
                                     unit_number unit, unsigned char* target,
                                     const unsigned char* source) const {
    const unsigned width = count(mask), first = rank(mask);
    const number num_pieces = number(1) << (map.unit_shift - 4);
    number base = num_pieces, begin = 0;
    while (chosen != 0 || base < num_pieces) {
      uint4 bytes[ISTHMUS_PAGED_IN_FLIGHT];
      number at[ISTHMUS_PAGED_IN_FLIGHT];
#pragma unroll
      for (int i = 0; i < ISTHMUS_PAGED_IN_FLIGHT; i++) {
        at[i] = kNowhere;
        if (base >= num_pieces && chosen != 0) {
          begin = number(from_lane(mask, unit, lowest(chosen))) << map.unit_shift;
          chosen &= chosen - 1;
          base = 0;
        }
        if (base >= num_pieces) continue;
        const number position = begin + (base + first) * 16;
        if (base + first < num_pieces && position >= map.first_byte &&
            position + 16 <= map.end_byte) {
          at[i] = position;
          bytes[i] = __ldcs(reinterpret_cast<const uint4*>(source + position));
        }
        base += width;
      }
#pragma unroll
      for (int i = 0; i < ISTHMUS_PAGED_IN_FLIGHT; i++)
        if (at[i] != kNowhere) *reinterpret_cast<uint4*>(target + at[i]) = bytes[i];
    }
  }

  /// Copies what is left of the array's first and last 16 bytes, if they are in this lane's unit.
  ISTHMUS_PAGED_CODE void copy_ends(const paged_map& map, unit_number unit, unsigned char* target,
                                    const unsigned char* source) const {
    const extent own = extent_of(map, unit);
    const number first_whole = (own.begin + 15) / 16 * 16, end_whole = own.end / 16 * 16;
    for (number i = own.begin; i < first_whole && i < own.end; i++) target[i] = source[i];
    for (number i = end_whole < first_whole ? first_whole : end_whole; i < own.end; i++)
      target[i] = source[i];
  }
  ISTHMUS_PAGED_CODE void copy(const paged_map& map, lanes mask, lanes chosen, unit_number unit,
                               unsigned char* target, const unsigned char* source) const {
    copy_units(map, mask, chosen, unit, target, source);
    if ((chosen >> lane() & 1U) != 0) copy_ends(map, unit, target, source);
  }
  ISTHMUS_PAGED_CODE void fetch(const paged_map& map, lanes mask, lanes chosen,
                                unit_number unit) const {
    copy(map, mask, chosen, unit, map.device, map.host);
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
#endif

/// Makes the units of the lanes in `mask` valid: what the lanes read afterwards was fetched. A group
/// that has claimed waits for nobody until it has published: none wait for each other in a circle.
///
/// wanted      false: this lane has no unit, and helps
/// overwrite   units aren't fetched: the caller stores all their items in this launch
template <typename Machine>
ISTHMUS_PAGED_CODE void make_valid(const Machine& machine, const paged_map& map,
                                   typename Machine::lanes mask, unit_number unit, bool wanted,
                                   bool overwrite = false) {
  const place at = place_of(wanted ? unit : 0);
  bool missing = wanted && (machine.acquire(map.valid + at.index) & at.bit) == 0;
  const auto short_of = machine.ballot(mask, missing);
  if (short_of == 0) return;
  // One lane claims for all lanes with its unit.
  unsigned leader = machine.lane();
  if (missing) leader = machine.lowest(machine.alike(short_of, unit));
  const bool won = missing && leader == machine.lane() &&
                   (machine.or_relaxed(map.busy + at.index, at.bit) & at.bit) == 0;
  const auto chosen = machine.ballot(mask, won);
  if (chosen != 0) {
    if (!overwrite) machine.fetch(map, mask, chosen, unit);
    machine.sync(mask);
    if (won) machine.or_release(map.valid + at.index, at.bit);
    if (machine.lane() == machine.lowest(mask))
      machine.add(map.counters + (overwrite ? kOverwritten : kFetched), machine.count(chosen));
    missing = missing && (chosen >> leader & 1U) == 0;
    machine.sync(mask);  // nobody waits before all has been published
  }
  machine.await(mask, missing, map.valid + at.index, at.bit);
}

/// Notes that a unit's bytes differ from the host's, for a flush() after the launch.
template <typename Machine>
ISTHMUS_PAGED_CODE void mark_dirty(const Machine& machine, const paged_map& map, unit_number unit) {
  const place at = place_of(unit);
  if ((machine.relaxed(map.dirty + at.index) & at.bit) == 0)
    machine.or_relaxed(map.dirty + at.index, at.bit);
}

}  // namespace paged

/// One lane's view of a paged array of T, whose size is 1, 2, 4, 8 or 16 bytes.
///
/// Each thread makes its own. Any launch shape and divergence are allowed. Items are as plain memory:
/// the caller orders accesses of different lanes to one item, of which one is a store. An index
/// >= size() reads or writes foreign memory; with ISTHMUS_PAGED_CHECKED defined, it ends the kernel
/// with a message that names the index and the array.
template <typename T, typename Machine = paged::gpu_machine>
class paged_array {
  using number = paged::number;
  using unit_number = paged::unit_number;
  using lanes = typename Machine::lanes;

public:
  ISTHMUS_PAGED_CODE explicit paged_array(const paged_map& map, const Machine& machine = Machine())
      : map_(map),
        machine_(machine),
        items_(reinterpret_cast<T*>(map.device + map.first_byte)),
        settled_(map.settled),
        first_byte_(static_cast<unsigned int>(map.first_byte)),
        unit_shift_(map.unit_shift) {}
  explicit paged_array(const paged_map&& map, const Machine& machine = Machine()) = delete;
  ISTHMUS_PAGED_CODE number size() const { return (map_.end_byte - map_.first_byte) / sizeof(T); }

  /// The item, fetched if the GPU doesn't hold it.
  ISTHMUS_PAGED_CODE T load(number i) {
    enter(i);
    return machine_.read(items_ + i);
  }

  /// Stores an item; its unit is fetched first if the GPU doesn't hold it.
  ISTHMUS_PAGED_CODE void store(number i, T value) {
    const unit_number unit = enter(i);
    if (unit != dirty_) {
      paged::mark_dirty(machine_, map_, unit);
      dirty_ = unit;
    }
    machine_.write(items_ + i, value);
  }

  /// `count` items from `first` as plain memory, to be read: one check for all of them. If all lanes
  /// of a warp ask for the same items, each of them checks a part.
  ISTHMUS_PAGED_CODE paged_span<const T> span(number first, number count) {
    enter_range(first, count, kRead);
    return {items_ + first, count};
  }
  /// The same, to be read and written.
  ISTHMUS_PAGED_CODE paged_span<T> writable(number first, number count) {
    enter_range(first, count, kWrite);
    return {items_ + first, count};
  }
  /// The same, to be written alone: the caller stores each of these items in this launch. Units that
  /// lie in it as a whole aren't fetched.
  ISTHMUS_PAGED_CODE paged_span<T> overwrite(number first, number count) {
    enter_range(first, count, kOverwrite);
    return {items_ + first, count};
  }

private:
  enum access { kRead, kWrite, kOverwrite };

#ifdef ISTHMUS_PAGED_CHECKED
  ISTHMUS_PAGED_CODE void check(number i) const { machine_.require(map_, i, size()); }
#else
  ISTHMUS_PAGED_CODE void check(number) const {}
#endif
  ISTHMUS_PAGED_CODE unit_number unit_of(number i) const {
    return static_cast<unit_number>((first_byte_ + i * sizeof(T)) >> unit_shift_);
  }
  /// True if the unit was valid before this launch: an ordinary load.
  ISTHMUS_PAGED_CODE bool settled(unit_number unit) const {
    const paged::place at = paged::place_of(unit);
    return (machine_.settled(settled_ + at.index) & at.bit) != 0;
  }

  /// A unit is valid until the launch ends, so that the last one needs no check.
  ISTHMUS_PAGED_CODE unit_number enter(number i) {
    check(i);
    const unit_number unit = unit_of(i);
    if (unit != last_) {
      if (!settled(unit)) paged::make_valid(machine_, map_, machine_.together(), unit, true);
      last_ = unit;
    }
    return unit;
  }

  ISTHMUS_PAGED_CODE void enter_range(number first, number count, access how) {
    if (count == 0) return;
    check(first + count - 1);
    const lanes mask = machine_.together();
    const unsigned leader = machine_.lowest(mask);
    const unit_number begin = unit_of(first), end = unit_of(first + count - 1) + 1;
    // Two calls that all lanes make, whatever the first one says.
    const unit_number its_begin = machine_.from_lane(mask, begin, leader);
    const unit_number its_end = machine_.from_lane(mask, end, leader);
    const bool alike = its_begin == begin && its_end == end;
    const bool shared = machine_.ballot(mask, alike) == mask;
    const unsigned step = shared ? machine_.count(mask) : 1;
    for (number i = begin + (shared ? machine_.rank(mask) : 0);; i += step) {
      const bool wanted = i < end;
      if (machine_.ballot(mask, wanted) == 0) break;
      enter_one(mask, static_cast<unit_number>(i), wanted, how, first, count);
    }
    machine_.sync(mask);  // what one lane acquired, all may read
  }

  ISTHMUS_PAGED_CODE void enter_one(lanes mask, unit_number unit, bool wanted, access how,
                                    number first, number count) {
    const bool open = wanted && !settled(unit);
    const bool whole = how == kOverwrite && open && is_within(unit, first, count);
    if (machine_.ballot(mask, open) != 0) {
      if (how == kOverwrite) paged::make_valid(machine_, map_, mask, unit, whole, true);
      paged::make_valid(machine_, map_, mask, unit, open && !whole);
    }
    if (how != kRead && wanted) paged::mark_dirty(machine_, map_, unit);
  }
  ISTHMUS_PAGED_CODE bool is_within(unit_number unit, number first, number count) const {
    const paged::extent own = paged::extent_of(map_, unit);
    const number begin = first_byte_ + first * sizeof(T);
    return begin <= own.begin && own.end <= begin + count * sizeof(T);
  }

  const paged_map& map_;
  const Machine machine_;
  // What each access needs is in registers; the rest is read when a unit is missing.
  T* const items_;
  const paged::word* const settled_;
  const unsigned int first_byte_, unit_shift_;
  unit_number last_ = paged::kNoUnit, dirty_ = paged::kNoUnit;
};

}  // namespace isthmus
