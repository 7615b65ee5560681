// The calls of a cache of rows: what they ask for is found, fetched and written back on the device.
//
// Launch: blocks of whole warps; of isthmus_row_cache_ensure fewer than 65,536, all resident at once.
// Calls of one cache follow each other. CPU reference: cpp/tests/paged/row_cache_test.cpp.
#include "row_cache.cuh"

/// Looks a key up. Kept if it is there, claimed if it isn't and nobody has claimed it.
///
/// Returns     its map entry; kIsthmusNobody if it is no row
__device__ inline uint32_t isthmus_look_up(const IsthmusRowCache& cache, uint64_t key, uint64_t i,
                                           uint32_t epoch) {
  if (key >= cache.num_rows) return kIsthmusNobody;
  uint32_t held = isthmus_seen(cache.map + key);
  if (held == 0) {
    const uint32_t claim = kIsthmusClaimed | uint32_t(i);
    held = atomicCAS(cache.map + key, 0u, claim);
    if (held == 0) held = claim;
  }
  if ((held & kIsthmusClaimed) == 0) isthmus_tell(cache.words + held - 1, epoch);
  return held;
}

__device__ inline bool isthmus_claims(uint32_t held, uint64_t i) {
  return held == (kIsthmusClaimed | uint32_t(i));
}

__device__ inline uint32_t isthmus_next_turn(const IsthmusRowCache& cache) {
  return atomicAdd(&cache.state->hand, 1u);
}

/// Reads a key, and its map entry, again.
__device__ inline IsthmusCacheKey isthmus_key_at(const IsthmusRowCache& cache,
                                                 const IsthmusCacheKeys& call, uint64_t i) {
  const uint64_t key = isthmus_index_at(call.keys, call.key_bytes, i);
  return {key, key < cache.num_rows ? isthmus_seen(cache.map + key) : kIsthmusNobody, 0};
}

/// Looks all keys of a lane up, and gives the slots that it finds.
__device__ inline IsthmusCacheCounts isthmus_look_up_all(const IsthmusRowCache& cache,
                                                         const IsthmusCacheKeys& call,
                                                         uint32_t epoch, IsthmusCacheKey& own) {
  IsthmusCacheCounts counts = {0, 0, 0, 0, 0, 0};
  for (uint64_t i = isthmus_lane(); i < call.count; i += isthmus_num_lanes()) {
    const uint64_t key = isthmus_index_at(call.keys, call.key_bytes, i);
    const uint32_t held = isthmus_look_up(cache, key, i, epoch);
    if (i == isthmus_lane())
      own = {key, held, isthmus_claims(held, i) ? isthmus_next_turn(cache) : 0};
    if (held == kIsthmusNobody) {
      ++counts.beyond;
      atomicMin(cache.state->counters + kIsthmusFirstBeyond, i + 1);
    } else if ((held & kIsthmusClaimed) != 0) {
      ++counts.missing;
      continue;
    }
    if (call.slots != nullptr)
      call.slots[i] = held == kIsthmusNobody ? -1 : static_cast<int32_t>(held - 1);
  }
  return counts;
}

/// Gives a key that this lane has claimed its slot; nothing if it has not.
__device__ inline IsthmusCacheJob isthmus_admit_at(const IsthmusRowCache& cache,
                                                   const IsthmusCacheKeys& call, uint64_t i,
                                                   uint32_t epoch, uint32_t base,
                                                   IsthmusCacheKey& own,
                                                   IsthmusCacheCounts& counts) {
  const bool is_first = i == isthmus_lane();
  const IsthmusCacheKey one = is_first ? own : isthmus_key_at(cache, call, i);
  if (!isthmus_claims(one.held, i)) return {kIsthmusNobody, 0, kIsthmusNobody};
  const uint32_t turn = is_first ? one.turn : isthmus_next_turn(cache);
  const IsthmusCacheJob job = isthmus_admit(cache, uint32_t(one.key), turn, epoch, base, counts);
  if (is_first) own.held = job.slot == kIsthmusNobody ? 0 : job.slot + 1;
  return job;
}

/// Gives the rows that this warp's lanes have claimed their slots, and fetches them.
__device__ inline void isthmus_admit_all(const IsthmusRowCache& cache, const IsthmusCacheKeys& call,
                                         uint32_t epoch, uint32_t base, IsthmusCacheKey& own,
                                         IsthmusCacheCounts& counts) {
  const uint64_t lane = isthmus_lane() % kIsthmusCacheLanes;
  for (uint64_t first = isthmus_lane() - lane; first < call.count; first += isthmus_num_lanes()) {
    const uint64_t i = first + lane;
    IsthmusCacheJob job = {kIsthmusNobody, 0, kIsthmusNobody};
    if (i < call.count) job = isthmus_admit_at(cache, call, i, epoch, base, own, counts);
    if (cache.jobs == nullptr)
      isthmus_move_jobs(cache, job, 0, cache.row_bytes);
    else if (job.slot != kIsthmusNobody)
      cache.jobs[atomicAdd(&cache.state->num_jobs, 1u)] = job;
  }
}

/// True after the deadline. Only who waits reads the clock.
///
/// start_ns    0 at first
__device__ inline bool isthmus_is_late(uint64_t& start_ns) {
  const uint64_t now_ns = isthmus_now_ns();
  if (start_ns == 0) start_ns = now_ns;
  return now_ns - start_ns > kIsthmusCacheDeadlineNs;
}

/// Gives the slots of the keys that were missing: all blocks that have claimed rows are giving them
/// slots, and wait for nobody.
__device__ inline void isthmus_give_slots(const IsthmusRowCache& cache,
                                          const IsthmusCacheKeys& call, const IsthmusCacheKey& own,
                                          IsthmusCacheCounts& counts) {
  uint64_t start_ns = 0;
  for (uint64_t i = isthmus_lane(); i < call.count; i += isthmus_num_lanes()) {
    const IsthmusCacheKey one = i == isthmus_lane() ? own : isthmus_key_at(cache, call, i);
    uint32_t held = one.held;
    if (held == kIsthmusNobody) continue;
    while (held != 0 && (held & kIsthmusClaimed) != 0 && !isthmus_is_late(start_ns)) {
      isthmus_pause();
      held = isthmus_seen(cache.map + one.key);
    }
    const bool has_room = held != 0 && (held & kIsthmusClaimed) == 0;
    call.slots[i] = has_room ? static_cast<int32_t>(held - 1) : -1;
    counts.full += has_room ? 0 : 1;
  }
}

__device__ inline void isthmus_add_counts(const IsthmusRowCache& cache,
                                          const IsthmusCacheCounts& counts) {
  const uint32_t own[6] = {counts.missing, counts.fetched, counts.evicted,
                           counts.written, counts.full,    counts.beyond};
  uint32_t all = 0;
  for (const uint32_t number : own) all |= number;
  if (isthmus_sum_of_warp(all != 0 ? 1 : 0) == 0) return;
  for (uint32_t k = 0; k < 6; ++k) {
    const uint32_t sum = isthmus_sum_of_warp(own[k]);
    if (sum != 0 && isthmus_lane() % kIsthmusCacheLanes == 0)
      atomicAdd(cache.state->counters + kIsthmusMissing + k, uint64_t(sum));
  }
}

/// Somebody else's call runs beside this one.
__device__ inline void isthmus_note_unordered(const IsthmusRowCache& cache) {
  cache.report[kIsthmusUnordered] =
      1 + atomicAdd(cache.state->counters + kIsthmusUnordered, uint64_t(1));
}

/// What the last block does: the next call finds everything in its place, and the CPU the counts.
///
/// call        of 0 bytes a key: a flush
__device__ inline void isthmus_end_call(const IsthmusRowCache& cache, const IsthmusCacheKeys& call,
                                        uint32_t epoch) {
  IsthmusCacheState& state = *cache.state;
  isthmus_fence();
  uint64_t counters[kIsthmusNumCounters];
  for (uint32_t k = 0; k < kIsthmusNumCounters; ++k)  // all at once
    counters[k] = *static_cast<const volatile uint64_t*>(state.counters + k);
  const uint32_t num_jobs = isthmus_seen(&state.num_jobs);
  counters[kIsthmusCalls] += call.key_bytes != 0 ? 1 : 0;
  counters[kIsthmusKeys] += call.count;
  state.counters[kIsthmusCalls] = counters[kIsthmusCalls];
  state.counters[kIsthmusKeys] = counters[kIsthmusKeys];
  state.counters[kIsthmusFirstBeyond] = ~uint64_t(0);
  if (call.slots != nullptr) state.ensured = epoch;
  state.epoch = epoch;
  state.num_ready_jobs = num_jobs;
  state.num_jobs = state.blocks = state.busy = 0;
  isthmus_note_write(const_cast<uint64_t*>(cache.report), sizeof counters);
  for (uint32_t k = 0; k < kIsthmusNumCounters; ++k)
    if (counters[k] != ~uint64_t(0)) cache.report[k] = counters[k];
}

/// The block has looked up its keys, or leaves, or both: its first lane says so.
__device__ inline void isthmus_step(const IsthmusRowCache& cache, const IsthmusCacheKeys& call,
                                    uint32_t epoch, bool arrives, bool leaves) {
  if (threadIdx.x != 0) return;
  isthmus_fence();
  const uint32_t step = (arrives ? 1u : 0u) + (leaves ? 0x10000u : 0u);
  const uint32_t blocks = atomicAdd(&cache.state->blocks, step) + step;
  if (leaves && blocks >> 16 == gridDim.x) isthmus_end_call(cache, call, epoch);
}

/// Waits until all blocks have looked up their keys: only then it is known which rows are kept.
__device__ inline void isthmus_await_blocks(const IsthmusRowCache& cache) {
  if (threadIdx.x == 0) {
    uint64_t start_ns = 0;
    while ((isthmus_seen(&cache.state->blocks) & 0xffffu) < gridDim.x) {
      if (isthmus_is_late(start_ns)) {
        isthmus_note_unordered(cache);
        break;
      }
      isthmus_pause();
    }
    isthmus_fence();
  }
  __syncthreads();
}

/// Makes rows have slots, and gives those. Blocks without a missing row leave early; the others
/// first wait for all blocks.
extern "C" __global__ void __launch_bounds__(256)
    isthmus_row_cache_ensure(const __grid_constant__ IsthmusRowCache cache,
                             const __grid_constant__ IsthmusCacheKeys call) {
  isthmus_note_read(reinterpret_cast<const void*>(call.keys), call.count * call.key_bytes);
  const uint32_t last = isthmus_seen(&cache.state->epoch);
  const uint32_t epoch = last + 1 == 0 ? 1 : last + 1;
  const uint32_t base = call.slots == nullptr ? isthmus_seen(&cache.state->ensured) : epoch;
  if (isthmus_lane() == 0 && atomicExch(&cache.state->busy, 1u) != 0) isthmus_note_unordered(cache);
  IsthmusCacheKey own = {0, kIsthmusNobody, 0};
  IsthmusCacheCounts counts = isthmus_look_up_all(cache, call, epoch, own);
  const bool stays = isthmus_any_of_block(counts.missing != 0);
  if (!stays) {
    isthmus_add_counts(cache, counts);
    __syncthreads();
    return isthmus_step(cache, call, epoch, true, true);
  }
  isthmus_step(cache, call, epoch, true, false);
  isthmus_await_blocks(cache);
  isthmus_admit_all(cache, call, epoch, base, own, counts);
  if (call.slots != nullptr) isthmus_give_slots(cache, call, own, counts);
  isthmus_add_counts(cache, counts);
  __syncthreads();
  isthmus_step(cache, call, epoch, false, true);
}

/// The bin of a job of the call before: where its row lies in the table.
__device__ inline uint32_t isthmus_bin_of_job(const IsthmusRowCache& cache, uint64_t i) {
  return cache.jobs[i].key / uint32_t((cache.num_rows + kIsthmusBins - 1) / kIsthmusBins);
}

/// Sorts the jobs of the call before: isthmus_row_cache_place follows.
///
/// bins        as in isthmus_count_bins
extern "C" __global__ void __launch_bounds__(1024)
    isthmus_row_cache_count(const __grid_constant__ IsthmusRowCache cache, uint32_t* bins) {
  isthmus_count_bins(
      cache.state->num_ready_jobs, [&](uint64_t i) { return isthmus_bin_of_job(cache, i); }, bins);
}

/// sorted      [num_slots]
extern "C" __global__ void __launch_bounds__(1024)
    isthmus_row_cache_place(const __grid_constant__ IsthmusRowCache cache, uint32_t* bins,
                            IsthmusCacheJob* sorted) {
  isthmus_place_by_bins(
      cache.state->num_ready_jobs, [&](uint64_t i) { return isthmus_bin_of_job(cache, i); },
      [&](uint64_t i, uint32_t place) { sorted[place] = cache.jobs[i]; }, bins);
}

/// Fetches rows that the call before has given slots: short rows some at once, wide ones in stripes.
extern "C" __global__ void __launch_bounds__(1024)
    isthmus_row_cache_fetch(const __grid_constant__ IsthmusRowCache cache) {
  constexpr uint32_t kStripeBytes = 8192;
  const uint32_t stripes = (cache.row_bytes + kStripeBytes - 1) / kStripeBytes;
  const uint32_t count = stripes * cache.state->num_ready_jobs;  // the rows fit on the device
  const uint32_t at_once = stripes > 1 || kIsthmusRows > kIsthmusCacheLanes ? 1 : kIsthmusRows;
  const uint32_t step = uint32_t(isthmus_num_lanes() / kIsthmusCacheLanes) * at_once;
  const uint32_t lane = uint32_t(isthmus_lane() % kIsthmusCacheLanes);
  const auto job_at = [&](uint32_t n) {
    return lane < at_once && n + lane < count ? cache.jobs[(n + lane) / stripes]
                                              : IsthmusCacheJob{kIsthmusNobody, 0, kIsthmusNobody};
  };
  uint32_t n = uint32_t(isthmus_lane() / kIsthmusCacheLanes) * at_once;
  for (IsthmusCacheJob next = job_at(n); n < count; n += step) {
    const IsthmusCacheJob job = next;
    next = job_at(n + step);  // it comes while rows are on their way
    const uint32_t first = n % stripes * kStripeBytes;
    const uint32_t rest = cache.row_bytes - first;
    isthmus_move_jobs(cache, job, first, rest < kStripeBytes ? rest : kStripeBytes);
  }
}

/// Marks rows as stored to. Other numbers than slots are left out.
///
/// values      [slots.count][row_bytes] on the device, which become the rows; null: they are there
extern "C" __global__ void __launch_bounds__(256)
    isthmus_row_cache_update(const __grid_constant__ IsthmusRowCache cache,
                             const __grid_constant__ IsthmusCacheKeys slots,
                             const uint8_t* values) {
  const uint64_t lane = isthmus_lane() % kIsthmusCacheLanes;
  for (uint64_t first = isthmus_lane() - lane; first < slots.count; first += isthmus_num_lanes()) {
    const uint64_t i = first + lane;
    const uint64_t slot =
        i < slots.count ? isthmus_index_at(slots.keys, slots.key_bytes, i) : kIsthmusNobody;
    const bool has = slot < cache.num_slots;
    if (has) cache.dirty[slot] = 1;
    IsthmusPace pace = {false};
    if (values != nullptr)
      isthmus_move_of_lanes(has, values + (has ? i * cache.row_bytes : 0),
                            cache.rows + (has ? slot * cache.row_bytes : 0), cache.row_bytes, pace);
  }
}

/// Writes back what was stored. Like a call without keys, so that the CPU gets the counts.
extern "C" __global__ void __launch_bounds__(256)
    isthmus_row_cache_flush(const __grid_constant__ IsthmusRowCache cache) {
  const uint64_t lane = isthmus_lane() % kIsthmusCacheLanes;
  IsthmusCacheCounts counts = {0, 0, 0, 0, 0, 0};
  IsthmusPace pace = {true};
  for (uint64_t first = isthmus_lane() - lane; first < cache.num_slots;
       first += isthmus_num_lanes()) {
    const uint64_t slot = first + lane;
    const bool has =
        slot < cache.num_slots && cache.dirty[slot] != 0 && cache.keys[slot] != kIsthmusNobody;
    const uint64_t key = has ? cache.keys[slot] : 0;
    isthmus_move_of_lanes(has, cache.rows + (has ? slot * cache.row_bytes : 0),
                          const_cast<uint8_t*>(cache.table) + key * cache.row_bytes,
                          cache.row_bytes, pace);
    if (has) cache.dirty[slot] = 0;
    counts.written += has ? 1 : 0;
  }
  isthmus_add_counts(cache, counts);
  __syncthreads();
  const IsthmusCacheKeys none = {0, 0, nullptr, 0};
  isthmus_step(cache, none, isthmus_seen(&cache.state->epoch), true, true);
}
