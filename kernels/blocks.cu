// Copies blocks between pools, and pieces between addresses, on few multiprocessors.
//
// Launch: any grid of whole warps. CPU reference: NumPy, in tests/unit/move/transfer/test_blocks.py.
#include "blocks.cuh"

template <typename Word>
__device__ inline void isthmus_move_blocks(const IsthmusBlocks& blocks) {
#ifdef ISTHMUS_HOST_KERNELS
  for (uint64_t i = 0; i < blocks.num_pieces; ++i) isthmus_move_part<Word>(isthmus_part(blocks, i));
#else
  // All warps move pieces that follow each other before any moves later ones: of sorted blocks few
  // pages are in use at a time.
  const uint64_t num_warps = isthmus_num_lanes() / kIsthmusWarpLanes;
  const uint64_t warp = isthmus_lane() / kIsthmusWarpLanes;
  const uint32_t lane = isthmus_lane_of_warp();
  const uint64_t place =
      (lane / kIsthmusRows * num_warps + warp) * kIsthmusRows + lane % kIsthmusRows;
  IsthmusPace pace = {blocks.is_paced != 0};
  for (uint64_t first = 0; first < blocks.num_pieces; first += num_warps * blocks.group) {
    IsthmusPart own = {0, 0, 0};
    if (lane < blocks.group) own = isthmus_part(blocks, first + place);
    for (uint32_t k = 0; k < blocks.group; k += kIsthmusRows) {
      IsthmusPart rows[kIsthmusRows];
#pragma unroll
      for (uint32_t row = 0; row < kIsthmusRows; ++row)
        rows[row] = isthmus_part_of_lane(own, k + row);
      isthmus_move_rows<Word>(rows, pace);
    }
  }
#endif
}

/// Pieces are rows: piece_bytes is 32 * word_bytes.
extern "C" __global__ void __launch_bounds__(1024)
    isthmus_blocks(const __grid_constant__ IsthmusBlocks blocks) {
  isthmus_note_blocks(blocks);
  if (blocks.word_bytes == 16) return isthmus_move_blocks<uint4>(blocks);
  if (blocks.word_bytes == 8) return isthmus_move_blocks<uint64_t>(blocks);
  if (blocks.word_bytes == 4) return isthmus_move_blocks<uint32_t>(blocks);
  isthmus_move_blocks<uint8_t>(blocks);
}

__device__ inline uint32_t isthmus_bin_of_pair(const IsthmusBlocks& blocks,
                                               const IsthmusPairs& pairs, uint64_t i) {
  const bool by_target = pairs.by_target != 0;
  const uint64_t count = by_target ? blocks.target_count : blocks.source_count;
  const uint64_t index = by_target
                             ? isthmus_index_at(blocks.target_index, blocks.target_index_bytes, i)
                             : isthmus_index_at(blocks.source_index, blocks.source_index_bytes, i);
  const uint64_t bin = index / ((count + kIsthmusBins - 1) / kIsthmusBins);
  return bin < kIsthmusBins ? static_cast<uint32_t>(bin) : kIsthmusBins - 1;
}

extern "C" __global__ void __launch_bounds__(1024)
    isthmus_blocks_count(const __grid_constant__ IsthmusBlocks blocks,
                         const __grid_constant__ IsthmusPairs pairs) {
  isthmus_note_read(reinterpret_cast<const void*>(blocks.target_index),
                    pairs.count * (blocks.target_index_bytes + blocks.source_index_bytes));
  isthmus_await_traffic();
  isthmus_count_bins(
      pairs.count, [&](uint64_t i) { return isthmus_bin_of_pair(blocks, pairs, pairs.first + i); },
      pairs.bins);
}

__device__ inline void isthmus_put_index(uint64_t indices, uint32_t index_bytes, uint64_t i,
                                         uint64_t index) {
  if (index_bytes == 8)
    reinterpret_cast<uint64_t*>(indices)[i] = index;
  else
    reinterpret_cast<uint32_t*>(indices)[i] = static_cast<uint32_t>(index);
}

/// Wrong pairs are reported with their position, and stay.
extern "C" __global__ void __launch_bounds__(1024)
    isthmus_blocks_place(const __grid_constant__ IsthmusBlocks blocks,
                         const __grid_constant__ IsthmusPairs pairs) {
  isthmus_place_by_bins(
      pairs.count, [&](uint64_t i) { return isthmus_bin_of_pair(blocks, pairs, pairs.first + i); },
      [&](uint64_t k, uint32_t place) {
        const uint64_t i = pairs.first + k;
        const uint64_t target = isthmus_index_at(blocks.target_index, blocks.target_index_bytes, i);
        const uint64_t source = isthmus_index_at(blocks.source_index, blocks.source_index_bytes, i);
        isthmus_is_wrong(blocks, target, source, i);
        isthmus_put_index(pairs.targets, blocks.target_index_bytes, place, target);
        isthmus_put_index(pairs.sources, blocks.source_index_bytes, place, source);
      },
      pairs.bins);
}

template <typename Word>
__device__ inline void isthmus_move_words_of_warp(const IsthmusPart& part, IsthmusPace& pace) {
#ifdef ISTHMUS_HOST_KERNELS
  (void)pace;
  isthmus_move_part<Word>(part);
#else
  constexpr uint32_t row_bytes = kIsthmusRowWords * sizeof(Word);
  for (uint32_t done = 0; done < part.size_bytes; done += kIsthmusRows * row_bytes) {
    IsthmusPart rows[kIsthmusRows];
#pragma unroll
    for (uint32_t k = 0; k < kIsthmusRows; ++k) {
      const uint32_t at = done + k * row_bytes;
      const uint32_t left = at < part.size_bytes ? part.size_bytes - at : 0;
      rows[k] = {part.target + at, part.source + at, left < row_bytes ? left : row_bytes};
    }
    isthmus_move_rows<Word>(rows, pace);
  }
#endif
}

/// By whole words as far as both ends allow, and by bytes behind them.
__device__ inline void isthmus_move_anywhere(const IsthmusPart& part, IsthmusPace& pace) {
  const uint64_t ends = part.target | part.source;
  const uint32_t word = ends % 16 == 0 ? 16 : ends % 8 == 0 ? 8 : ends % 4 == 0 ? 4 : 1;
  const uint32_t in_words = part.size_bytes / word * word;
  const IsthmusPart words = {part.target, part.source, in_words};
  const IsthmusPart rest = {part.target + in_words, part.source + in_words,
                            part.size_bytes - in_words};
  if (word == 16) isthmus_move_words_of_warp<uint4>(words, pace);
  if (word == 8) isthmus_move_words_of_warp<uint64_t>(words, pace);
  if (word == 4) isthmus_move_words_of_warp<uint32_t>(words, pace);
  isthmus_move_words_of_warp<uint8_t>(word == 1 ? words : rest, pace);
}

/// pieces      pinned host memory mapped on the device, or device memory, [num_pieces]; each of less
///             than 4 GiB
/// group       how many a warp reads at once: up to 32
/// is_paced    as in IsthmusBlocks
extern "C" __global__ void __launch_bounds__(1024)
    isthmus_blocks_pieces(const IsthmusDescriptor* pieces, uint64_t num_pieces, uint32_t group,
                          uint32_t is_paced) {
  isthmus_note_read(pieces, num_pieces * sizeof *pieces);
  isthmus_await_traffic();
  IsthmusPace pace = {is_paced != 0};
#ifdef ISTHMUS_HOST_KERNELS
  (void)group;
  for (uint64_t i = 0; i < num_pieces; ++i) {
    const IsthmusDescriptor& piece = pieces[i];
    isthmus_note_read(reinterpret_cast<const void*>(piece.source), piece.size_bytes);
    isthmus_note_write(reinterpret_cast<void*>(piece.target), piece.size_bytes);
    isthmus_move_anywhere({piece.target, piece.source, static_cast<uint32_t>(piece.size_bytes)},
                          pace);
  }
#else
  const uint64_t step = isthmus_num_lanes() / kIsthmusWarpLanes * group;
  for (uint64_t first = isthmus_lane() / kIsthmusWarpLanes * group; first < num_pieces;
       first += step) {
    const uint64_t number = first + isthmus_lane_of_warp();
    IsthmusPart own = {0, 0, 0};
    if (isthmus_lane_of_warp() < group && number < num_pieces)
      own = {pieces[number].target, pieces[number].source,
             static_cast<uint32_t>(pieces[number].size_bytes)};
    for (uint32_t k = 0; k < group; ++k) isthmus_move_anywhere(isthmus_part_of_lane(own, k), pace);
  }
#endif
}
