// A cache of rows of a host table: which slot of the device's memory has which row, and which row
// makes room for another. docs/adr/0034-row-cache.md has the reasons.
#pragma once

#include "blocks.cuh"

/// In the map: the row is asked for, and has no slot yet; the other bits are the position of the key
/// that has claimed it. 0: no slot. Else: the slot's number + 1.
constexpr uint32_t kIsthmusClaimed = 0x80000000u;
/// No key, no slot.
constexpr uint32_t kIsthmusNobody = ~0u;
/// Slots of which a victim is chosen: their words are one line of a cache.
constexpr uint32_t kIsthmusChunk = 32;
/// Waits end after this time: only calls that weren't ordered can come so far.
constexpr uint64_t kIsthmusCacheDeadlineNs = 10000000000;
/// Longer rows are moved by a kernel of their own, each by many warps.
constexpr uint32_t kIsthmusNarrowBytes = 4096;

/// What calls count. The report, in pinned memory, has the same after each call.
enum IsthmusCacheCounter : uint32_t {
  kIsthmusCalls,
  kIsthmusKeys,         ///< positions, of all calls
  kIsthmusMissing,      ///< positions whose row had no slot before the call
  kIsthmusFetched,      ///< rows
  kIsthmusEvicted,      ///< rows
  kIsthmusWritten,      ///< rows
  kIsthmusFull,         ///< positions of ensure that found no room
  kIsthmusBeyond,       ///< positions whose keys are no rows of the table
  kIsthmusUnordered,    ///< calls that ran beside another one
  kIsthmusFirstBeyond,  ///< 1 + the least position of the last call that had one
  kIsthmusNumCounters
};

/// A row that is to come to a slot. `evicted` is the key of the row there that is to be written
/// back before.
struct IsthmusCacheJob {
  uint32_t slot, key, evicted;
};

/// What one call leaves for the next; zeros at first.
struct IsthmusCacheState {
  uint64_t counters[kIsthmusNumCounters];
  uint32_t epoch;      ///< of the last call
  uint32_t ensured;    ///< of the last call but prefetches
  uint32_t hand;       ///< chunks that were visited
  uint32_t exhausted;  ///< in this call there are no more victims
  uint32_t blocks;  ///< of this launch: that have looked up their keys, and << 16: that have left
  uint32_t busy;
  uint32_t num_jobs, num_ready_jobs;
};

/// cpp/src/paged/row_cache.cpp has the same struct.
struct IsthmusRowCache {
  const uint8_t* table;   ///< [num_rows][row_bytes], the host's
  uint8_t* rows;          ///< [num_slots][row_bytes]
  uint32_t* map;          ///< [num_rows]
  uint32_t* keys;         ///< [num_slots]
  uint32_t* words;        ///< [num_slots, in whole chunks]: the last call that used it; 0: none
  uint8_t* dirty;         ///< [num_slots]; null: nothing is written back
  IsthmusCacheJob* jobs;  ///< [num_slots]; null: who gives a row its slot fetches it, too
  IsthmusCacheState* state;
  volatile uint64_t* report;
  uint64_t num_rows;
  uint32_t num_slots, row_bytes;
  uint32_t has_clock;  ///< 0: the least recently used of a chunk makes room
};

/// Keys of one call.
struct IsthmusCacheKeys {
  uint64_t keys, count;  ///< an address of int32 or int64
  int32_t* slots;        ///< null: a prefetch
  uint32_t key_bytes;
};

/// What the lanes of a warp have counted in one call.
struct IsthmusCacheCounts {
  uint32_t missing, fetched, evicted, written, full, beyond;
};

/// What a lane knows of a key. It keeps that of its first, mostly its only one: memory isn't asked
/// again.
struct IsthmusCacheKey {
  uint64_t key;
  uint32_t held;  ///< its map entry; kIsthmusNobody: it is no row
  uint32_t turn;  ///< of the chunk that makes room for it, if the lane has claimed it
};

#ifdef ISTHMUS_HOST_KERNELS

constexpr uint32_t kIsthmusCacheLanes = 1;

inline uint32_t isthmus_seen(const uint32_t* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
inline void isthmus_tell(uint32_t* at, uint32_t value) {
  __atomic_store_n(at, value, __ATOMIC_RELAXED);
}
inline void isthmus_fence() { __threadfence(); }
inline bool isthmus_any_of_block(bool said) { return said; }
inline uint32_t isthmus_sum_of_warp(uint32_t number) { return number; }

/// Four words of a chunk.
inline uint4 isthmus_four(const uint32_t* at) {
  return {isthmus_seen(at), isthmus_seen(at + 1), isthmus_seen(at + 2), isthmus_seen(at + 3)};
}

inline void isthmus_move_of_lanes(bool has, const uint8_t* source, uint8_t* target,
                                  uint32_t size_bytes, IsthmusPace&) {
  if (!has) return;
  isthmus_note_read(source, size_bytes);
  isthmus_note_write(target, size_bytes);
  isthmus_move_part<uint4>(
      {reinterpret_cast<uint64_t>(target), reinterpret_cast<uint64_t>(source), size_bytes});
}

#else

constexpr uint32_t kIsthmusCacheLanes = kIsthmusWarpLanes;

/// Past the first cache, which doesn't see what other blocks write.
__device__ inline uint32_t isthmus_seen(const uint32_t* at) {
  return *reinterpret_cast<const volatile uint32_t*>(at);
}
__device__ inline void isthmus_tell(uint32_t* at, uint32_t value) {
  *reinterpret_cast<volatile uint32_t*>(at) = value;
}
/// Weaker than __threadfence(), which also orders all such fences: nothing here needs that.
__device__ inline void isthmus_fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
__device__ inline bool isthmus_any_of_block(bool said) { return __syncthreads_or(said) != 0; }
__device__ inline uint32_t isthmus_sum_of_warp(uint32_t number) {
  for (uint32_t other = kIsthmusWarpLanes / 2; other != 0; other /= 2)
    number += __shfl_xor_sync(0xffffffffu, number, other);
  return number;
}
__device__ inline uint4 isthmus_four(const uint32_t* at) {
  return __ldcg(reinterpret_cast<const uint4*>(at));
}

/// Moves what the lanes of a warp have that say so, all lanes together, four parts of 512 bytes at
/// once.
__device__ inline void isthmus_move_of_lanes(bool has, const uint8_t* source, uint8_t* target,
                                             uint32_t size_bytes, IsthmusPace& pace) {
  constexpr uint32_t kRowBytes = kIsthmusRowWords * sizeof(uint4);
  const IsthmusPart own = {reinterpret_cast<uint64_t>(target), reinterpret_cast<uint64_t>(source),
                           size_bytes};
  uint32_t left = __ballot_sync(0xffffffffu, has);
  uint32_t done = 0;
  while (left != 0) {
    IsthmusPart parts[kIsthmusRows];
#pragma unroll
    for (uint32_t k = 0; k < kIsthmusRows; ++k) {
      parts[k] = {0, 0, 0};
      if (left == 0) continue;
      const IsthmusPart all = isthmus_part_of_lane(own, __ffs(left) - 1);
      const uint32_t rest = all.size_bytes - done;
      parts[k] = {all.target + done, all.source + done, rest < kRowBytes ? rest : kRowBytes};
      done += kRowBytes;
      if (rest > kRowBytes) continue;
      done = 0;
      left &= left - 1;
    }
    isthmus_move_rows<uint4>(parts, pace);
  }
}

#endif

/// The chunk's slot that makes room, and its word. A slot that nobody has used is the oldest. With a
/// clock, those that were used since it came by last are as old as each other.
///
/// base        slots that were used since this call are kept
struct IsthmusVictim {
  uint32_t slot, word;
};
__device__ inline IsthmusVictim isthmus_victim_of(const IsthmusRowCache& cache, uint32_t chunk,
                                                  uint32_t epoch, uint32_t base) {
  const uint32_t first = chunk * kIsthmusChunk;
  const uint32_t kept_age = epoch - base;
  IsthmusVictim oldest = {kIsthmusNobody, 0};
  uint32_t most = kept_age;
  uint4 fours[kIsthmusChunk / 4];
  for (uint32_t k = 0; k < kIsthmusChunk; k += 4)
    fours[k / 4] = isthmus_four(cache.words + first + k);
  for (uint32_t k = 0; k < kIsthmusChunk; k += 4) {
    const uint32_t words[4] = {fours[k / 4].x, fours[k / 4].y, fours[k / 4].z, fours[k / 4].w};
    for (uint32_t i = 0; i < 4; ++i) {
      uint32_t age = words[i] == 0 ? ~0u : epoch - words[i];
      if (cache.has_clock != 0 && words[i] != 0 && age > kept_age) age = kept_age + 1;
      if (age <= most || first + k + i >= cache.num_slots) continue;
      most = age;
      oldest = {first + k + i, words[i]};
    }
  }
  return oldest;
}

/// The clock passes a chunk in which all were used: they must be used again to be kept.
__device__ inline void isthmus_pass(const IsthmusRowCache& cache, const IsthmusVictim& victim,
                                    uint32_t epoch, uint32_t base) {
  const uint32_t first = victim.slot / kIsthmusChunk * kIsthmusChunk;
  for (uint32_t slot = first; slot < first + kIsthmusChunk && slot < cache.num_slots; ++slot) {
    const uint32_t word = isthmus_seen(cache.words + slot);
    if (slot != victim.slot && word != 0 && epoch - word > epoch - base)
      atomicCAS(cache.words + slot, word, 0u);
  }
}

/// Takes a slot, each lane from the next chunk; kIsthmusNobody if all slots are kept.
///
/// evicted     becomes the key of the row there
__device__ inline uint32_t isthmus_take_slot(const IsthmusRowCache& cache, uint32_t turn,
                                             uint32_t epoch, uint32_t base, uint32_t& evicted) {
  const uint32_t num_chunks = (cache.num_slots + kIsthmusChunk - 1) / kIsthmusChunk;
  uint32_t chunk = turn % num_chunks;
  for (uint32_t visited = 0; visited < num_chunks;) {
    const IsthmusVictim victim = isthmus_victim_of(cache, chunk, epoch, base);
    if (victim.slot == kIsthmusNobody) {
      if (isthmus_seen(&cache.state->exhausted) == epoch) return kIsthmusNobody;
      chunk = chunk + 1 == num_chunks ? 0 : chunk + 1;
      ++visited;
      continue;
    }
    evicted = cache.keys[victim.slot];  // before the slot is ours, for both are asked for at once
    if (atomicCAS(cache.words + victim.slot, victim.word, epoch) != victim.word) continue;
    if (cache.has_clock != 0 && victim.word != 0) isthmus_pass(cache, victim, epoch, base);
    return victim.slot;
  }
  isthmus_tell(&cache.state->exhausted, epoch);  // slots are only taken in a call
  return kIsthmusNobody;
}

/// Gives a row a slot. Only the lane that has claimed the row calls it.
__device__ inline IsthmusCacheJob isthmus_admit(const IsthmusRowCache& cache, uint32_t key,
                                                uint32_t turn, uint32_t epoch, uint32_t base,
                                                IsthmusCacheCounts& counts) {
  uint32_t evicted = kIsthmusNobody;
  const uint32_t slot = isthmus_take_slot(cache, turn, epoch, base, evicted);
  if (slot == kIsthmusNobody) {
    isthmus_tell(cache.map + key, 0);
    return {kIsthmusNobody, key, kIsthmusNobody};
  }
  bool stored = false;
  if (evicted != kIsthmusNobody) {
    isthmus_tell(cache.map + evicted, 0);
    ++counts.evicted;
    stored = cache.dirty != nullptr && cache.dirty[slot] != 0;
    if (stored) cache.dirty[slot] = 0;
  }
  cache.keys[slot] = key;
  isthmus_tell(cache.map + key, slot + 1);
  ++counts.fetched;
  counts.written += stored ? 1 : 0;
  return {slot, key, stored ? evicted : kIsthmusNobody};
}

/// Moves parts of the rows of the lanes' jobs, all lanes of a warp together: what is written back
/// first. A lane moves the same bytes of both, so that it has read what it overwrites.
__device__ inline void isthmus_move_jobs(const IsthmusRowCache& cache, const IsthmusCacheJob& job,
                                         uint32_t first_byte, uint32_t size_bytes) {
  const bool has = job.slot != kIsthmusNobody;
  const bool stored = has && job.evicted != kIsthmusNobody;
  uint8_t* const slot =
      has ? cache.rows + uint64_t(job.slot) * cache.row_bytes + first_byte : nullptr;
  const auto of_table = [&](uint32_t key) {
    return cache.table + uint64_t(key) * cache.row_bytes + first_byte;
  };
  IsthmusPace pace = {false};  // what is fetched from the host comes behind what is stored there
  if (cache.dirty != nullptr)
    isthmus_move_of_lanes(stored, slot, const_cast<uint8_t*>(of_table(stored ? job.evicted : 0)),
                          size_bytes, pace);
  isthmus_move_of_lanes(has, of_table(has ? job.key : 0), slot, size_bytes, pace);
}
