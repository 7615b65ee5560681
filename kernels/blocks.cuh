// Copies of blocks between pools: where a piece of a block lies, and how a warp moves rows. Either
// end may be pinned host memory mapped on the device. For other kernels that fetch blocks, too.
#pragma once

#include "block_arguments.cuh"

/// A part of a block; of 0 bytes if there is nothing to move.
struct IsthmusPart {
  uint64_t target, source;
  uint32_t size_bytes;
};

/// Negative indices become too large ones.
__device__ inline uint64_t isthmus_index_at(uint64_t indices, uint32_t index_bytes, uint64_t i) {
  if (index_bytes == 8) return reinterpret_cast<const uint64_t*>(indices)[i];
  return static_cast<uint64_t>(int64_t{reinterpret_cast<const int32_t*>(indices)[i]});
}

/// Reports a pair of indices if one is outside its pool.
__device__ inline bool isthmus_is_wrong(const IsthmusBlocks& blocks, uint64_t target,
                                        uint64_t source, uint64_t i) {
  const bool wrong_target = target >= blocks.target_count;
  if (!wrong_target && source < blocks.source_count) return false;
  atomicMin(reinterpret_cast<uint64_t*>(blocks.report), 2 * i + (wrong_target ? 0 : 1));
  return true;
}

/// Piece `number` of a copy: layer by layer, block by block. Reports indices outside the pools.
__device__ inline IsthmusPart isthmus_part(const IsthmusBlocks& blocks, uint64_t number) {
  if (number >= blocks.num_pieces) return {0, 0, 0};
  const uint64_t place = number / blocks.pieces_a_block;
  const uint64_t offset = (number - place * blocks.pieces_a_block) * blocks.piece_bytes;
  const uint64_t layer = place / blocks.num_blocks;
  const uint64_t i = place - layer * blocks.num_blocks;
  const uint64_t target = isthmus_index_at(blocks.target_index, blocks.target_index_bytes, i);
  const uint64_t source = isthmus_index_at(blocks.source_index, blocks.source_index_bytes, i);
  if (isthmus_is_wrong(blocks, target, source, i)) return {0, 0, 0};
  const uint64_t left = blocks.block_bytes - offset;
  return {blocks.targets[layer] + target * blocks.target_stride + offset,
          blocks.sources[layer] + source * blocks.source_stride + offset,
          left < blocks.piece_bytes ? static_cast<uint32_t>(left) : blocks.piece_bytes};
}

/// For the emulated driver: all of the copy's bytes, noted at once.
__device__ inline void isthmus_note_blocks(const IsthmusBlocks& blocks) {
  isthmus_note_read(reinterpret_cast<const void*>(blocks.target_index),
                    blocks.num_blocks * blocks.target_index_bytes);
  isthmus_note_read(reinterpret_cast<const void*>(blocks.source_index),
                    blocks.num_blocks * blocks.source_index_bytes);
  isthmus_await_traffic();
  const uint64_t size_bytes = blocks.num_layers * blocks.num_blocks * blocks.block_bytes;
  isthmus_note_read(reinterpret_cast<const void*>(blocks.sources[0]), size_bytes);
  isthmus_note_write(reinterpret_cast<void*>(blocks.targets[0]), size_bytes);
}

/// Counts items by their bins.
///
/// bins        [2][kIsthmusBins]: becomes their sizes, and zeros stay for isthmus_place_by_bins
template <typename BinOf>
__device__ inline void isthmus_count_bins(uint64_t count, BinOf bin_of, uint32_t* bins) {
  for (uint64_t i = isthmus_lane(); i < count; i += isthmus_num_lanes())
    atomicAdd(bins + bin_of(i), 1u);
}

/// Gives items places in the order of their bins; within a bin they come in any order.
///
/// place       puts item i to its place
/// bins        as isthmus_count_bins has left it
template <typename BinOf, typename Place>
__device__ inline void isthmus_place_by_bins(uint64_t count, BinOf bin_of, Place place,
                                             uint32_t* bins) {
  constexpr uint32_t group = 32;
  __shared__ uint32_t sizes[kIsthmusBins], sums[kIsthmusBins / group], starts[kIsthmusBins];
  for (uint32_t bin = threadIdx.x; bin < kIsthmusBins; bin += blockDim.x) sizes[bin] = bins[bin];
  __syncthreads();
  for (uint32_t g = threadIdx.x; g < kIsthmusBins / group; g += blockDim.x) {
    sums[g] = 0;
    for (uint32_t bin = g * group; bin < (g + 1) * group; ++bin) sums[g] += sizes[bin];
  }
  __syncthreads();
  for (uint32_t bin = threadIdx.x; bin < kIsthmusBins; bin += blockDim.x) {
    uint32_t before = 0;
    for (uint32_t g = 0; g < bin / group; ++g) before += sums[g];
    for (uint32_t other = bin / group * group; other < bin; ++other) before += sizes[other];
    starts[bin] = before;
  }
  __syncthreads();
  for (uint64_t i = isthmus_lane(); i < count; i += isthmus_num_lanes()) {
    const uint32_t bin = bin_of(i);
    place(i, starts[bin] + atomicAdd(bins + kIsthmusBins + bin, 1u));
  }
}

#ifdef ISTHMUS_HOST_KERNELS

struct IsthmusPace {
  bool is_on;
};

template <typename Word>
inline void isthmus_move_part(const IsthmusPart& part) {
  for (uint32_t i = 0; i < part.size_bytes / sizeof(Word); ++i)
    reinterpret_cast<Word*>(part.target)[i] = reinterpret_cast<const Word*>(part.source)[i];
}

#else

constexpr uint32_t kIsthmusWarpLanes = 32;

__device__ inline uint32_t isthmus_lane_of_warp() { return threadIdx.x % kIsthmusWarpLanes; }

/// What another lane of the warp has found. All lanes call it.
__device__ inline IsthmusPart isthmus_part_of_lane(const IsthmusPart& own, uint32_t lane) {
  return {__shfl_sync(0xffffffffu, own.target, lane), __shfl_sync(0xffffffffu, own.source, lane),
          __shfl_sync(0xffffffffu, own.size_bytes, lane)};
}

template <typename Word>
__device__ inline Word isthmus_load_word(const Word* from) {
  return *from;
}

/// Past the first cache, which has no use for bytes that are read once.
template <>
__device__ inline uint4 isthmus_load_word(const uint4* from) {
  uint4 word;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
               : "l"(from));
  return word;
}

/// Of a warp that stores to the host. Stores wait inside the GPU for the link. If many do, those of all
/// other multiprocessors wait behind them, also for the GPU's own memory. So a warp reads back what it
/// has stored before it stores more: the link isn't slower, and a decode step beside it takes 1.2 times
/// as long instead of 5 (measured on an H200: benchmarks/blocks).
struct IsthmusPace {
  bool is_on;
  uint32_t seen = 0;

  /// Where nothing depends on the value, nothing waits for it.
  __device__ void await() const {
    if (seen == 1) __nanosleep(1);
  }
  /// What is read can't overtake what was stored to the same place.
  __device__ void follow(const IsthmusPart (&rows)[kIsthmusRows]) {
    if (!is_on || isthmus_lane_of_warp() != 0) return;
    uint64_t last = 0;
#pragma unroll
    for (uint32_t k = 0; k < kIsthmusRows; ++k)
      if (rows[k].size_bytes != 0) last = rows[k].target;
    if (last != 0) seen = *reinterpret_cast<const volatile uint8_t*>(last);
  }
};

/// Moves rows of up to 32 words by one warp: all loads are in flight before the first store. What is
/// stored leaves the GPU's cache before other memory does: the row cache fetches 41,000 rows of
/// 512 bytes in 423 us then instead of 607 (measured on an H200: benchmarks/blocks).
template <typename Word>
__device__ inline void isthmus_move_rows(const IsthmusPart (&rows)[kIsthmusRows],
                                         IsthmusPace& pace) {
  const uint32_t lane = isthmus_lane_of_warp();
  Word words[kIsthmusRows];
#pragma unroll
  for (uint32_t k = 0; k < kIsthmusRows; ++k)
    if (lane * sizeof(Word) < rows[k].size_bytes)
      words[k] = isthmus_load_word(reinterpret_cast<const Word*>(rows[k].source) + lane);
  pace.await();
#pragma unroll
  for (uint32_t k = 0; k < kIsthmusRows; ++k)
    if (lane * sizeof(Word) < rows[k].size_bytes)
      __stcs(reinterpret_cast<Word*>(rows[k].target) + lane, words[k]);
  pace.follow(rows);
}

#endif
