// Copies blocks between pools, and pieces between addresses, on few multiprocessors.
//
// Launch: any grid of whole warps; of isthmus_blocks_bulk one warp a block. CPU reference: NumPy, in
// tests/unit/move/transfer/test_blocks.py.
#include "blocks.cuh"

template <typename Word>
__device__ inline void isthmus_move_blocks(const IsthmusBlocks& blocks) {
#ifdef ISTHMUS_HOST_KERNELS
  for (uint64_t i = 0; i < blocks.num_pieces; ++i) isthmus_move_part<Word>(isthmus_part(blocks, i));
#else
  const uint64_t step = isthmus_num_lanes() / kIsthmusWarpLanes * blocks.group;
  uint64_t first = isthmus_lane() / kIsthmusWarpLanes * blocks.group;
  for (; first < blocks.num_pieces; first += step) {
    IsthmusPart own = {0, 0, 0};
    const uint32_t lane = isthmus_lane_of_warp();
    if (lane < blocks.group) own = isthmus_part(blocks, first + lane);
    for (uint32_t k = 0; k < blocks.group; k += kIsthmusRows) {
      IsthmusPart rows[kIsthmusRows];
#pragma unroll
      for (uint32_t row = 0; row < kIsthmusRows; ++row)
        rows[row] = isthmus_part_of_lane(own, k + row);
      isthmus_move_rows<Word>(rows);
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

#if !defined(ISTHMUS_HOST_KERNELS) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

/// Slots of shared memory, and how many of them are being filled; the others are being stored.
constexpr uint32_t kIsthmusSlots = 12;
constexpr uint32_t kIsthmusAhead = 8;

__device__ inline uint32_t isthmus_shared(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

/// The pieces of one block of the grid, each through a slot: loads and stores are bulk copies that
/// one lane asks for, and the hardware makes. Source: PTX ISA 8.0, cp.async.bulk.
struct IsthmusBulkRing {
  uint64_t* full;
  IsthmusPart* held;
  uint8_t* slots;
  uint32_t slot_bytes;

  __device__ void prepare() const {
    for (uint32_t slot = 0; slot < kIsthmusSlots; ++slot)
      asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(isthmus_shared(full + slot)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __device__ void load(uint64_t i, const IsthmusPart& part) const {
    const uint32_t slot = i % kIsthmusSlots;
    const uint32_t barrier = isthmus_shared(full + slot);
    held[slot] = part;
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier),
                 "r"(part.size_bytes)
                 : "memory");
    if (part.size_bytes == 0) return;
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(isthmus_shared(slots + slot * slot_bytes)),
        "l"(part.source), "r"(part.size_bytes), "r"(barrier)
        : "memory");
  }
  /// Returns once a slot is free again for piece i + kIsthmusAhead.
  __device__ void store(uint64_t i) const {
    const uint32_t slot = i % kIsthmusSlots;
    const uint32_t parity = i / kIsthmusSlots % 2;
    asm volatile(
        "{\n"
        ".reg .pred full;\n"
        "AGAIN: mbarrier.try_wait.parity.shared.b64 full, [%0], %1;\n"
        "@!full bra AGAIN;\n"
        "}" ::"r"(isthmus_shared(full + slot)),
        "r"(parity)
        : "memory");
    const IsthmusPart part = held[slot];
    if (part.size_bytes != 0)
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(part.target),
                   "r"(isthmus_shared(slots + slot * slot_bytes)), "r"(part.size_bytes)
                   : "memory");
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kIsthmusSlots - kIsthmusAhead - 1)
                 : "memory");
  }
};

/// Where the pieces of one block of the grid are: the places of 32 are found at once, and those of
/// the next 32 meanwhile. All lanes of the warp call it, for one piece after the other.
struct IsthmusPlaces {
  const IsthmusBlocks& blocks;
  IsthmusPart now, next;

  __device__ IsthmusPart of(uint64_t i) const {
    return isthmus_part(blocks, blockIdx.x + (i + isthmus_lane_of_warp()) * gridDim.x);
  }
  __device__ IsthmusPart at(uint64_t i) {
    const uint32_t lane = i % kIsthmusWarpLanes;
    if (lane == 0) {
      now = i == 0 ? of(0) : next;
      next = of(i + kIsthmusWarpLanes);
    }
    return isthmus_part_of_lane(now, lane);
  }
};

#endif

/// The same by bulk copies through shared memory: fewer instructions and registers, so that other
/// kernels notice less. From compute capability 9.0 on.
///
/// Launch: 32 lanes a block, 12 * piece_bytes of dynamic shared memory; word_bytes is 16.
extern "C" __global__ void __launch_bounds__(32)
    isthmus_blocks_bulk(const __grid_constant__ IsthmusBlocks blocks) {
  isthmus_note_blocks(blocks);
#ifdef ISTHMUS_HOST_KERNELS
  isthmus_move_blocks<uint4>(blocks);
#elif __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) uint8_t slots[];
  __shared__ uint64_t full[kIsthmusSlots];
  __shared__ IsthmusPart held[kIsthmusSlots];
  const IsthmusBulkRing ring{full, held, slots, blocks.piece_bytes};
  const bool leads = threadIdx.x == 0;
  if (leads) ring.prepare();
  if (blockIdx.x >= blocks.num_pieces) return;
  const uint64_t num_own = (blocks.num_pieces - blockIdx.x - 1) / gridDim.x + 1;
  IsthmusPlaces places{blocks, {0, 0, 0}, {0, 0, 0}};
  for (uint64_t i = 0; i < num_own + kIsthmusAhead; ++i) {
    if (i >= kIsthmusAhead && leads) ring.store(i - kIsthmusAhead);
    if (i >= num_own) continue;
    const IsthmusPart part = places.at(i);
    if (leads) ring.load(i, part);
  }
  if (leads) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
}

/// A piece between two addresses.
struct IsthmusDescriptor {
  uint64_t target, source, size_bytes;
};

template <typename Word>
__device__ inline void isthmus_move_words_of_warp(const IsthmusPart& part) {
#ifdef ISTHMUS_HOST_KERNELS
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
    isthmus_move_rows<Word>(rows);
  }
#endif
}

/// By whole words as far as both ends allow, and by bytes behind them.
__device__ inline void isthmus_move_anywhere(const IsthmusPart& part) {
  const uint64_t ends = part.target | part.source;
  const uint32_t word = ends % 16 == 0 ? 16 : ends % 8 == 0 ? 8 : ends % 4 == 0 ? 4 : 1;
  const uint32_t in_words = part.size_bytes / word * word;
  const IsthmusPart words = {part.target, part.source, in_words};
  const IsthmusPart rest = {part.target + in_words, part.source + in_words,
                            part.size_bytes - in_words};
  if (word == 16) isthmus_move_words_of_warp<uint4>(words);
  if (word == 8) isthmus_move_words_of_warp<uint64_t>(words);
  if (word == 4) isthmus_move_words_of_warp<uint32_t>(words);
  isthmus_move_words_of_warp<uint8_t>(word == 1 ? words : rest);
}

/// pieces      pinned host memory mapped on the device, or device memory, [num_pieces]; each of less
///             than 4 GiB
/// group       how many a warp reads at once: up to 32
extern "C" __global__ void __launch_bounds__(1024)
    isthmus_blocks_pieces(const IsthmusDescriptor* pieces, uint64_t num_pieces, uint32_t group) {
  isthmus_note_read(pieces, num_pieces * sizeof *pieces);
  isthmus_await_traffic();
#ifdef ISTHMUS_HOST_KERNELS
  (void)group;
  for (uint64_t i = 0; i < num_pieces; ++i) {
    const IsthmusDescriptor& piece = pieces[i];
    isthmus_note_read(reinterpret_cast<const void*>(piece.source), piece.size_bytes);
    isthmus_note_write(reinterpret_cast<void*>(piece.target), piece.size_bytes);
    isthmus_move_anywhere({piece.target, piece.source, static_cast<uint32_t>(piece.size_bytes)});
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
    for (uint32_t k = 0; k < group; ++k) isthmus_move_anywhere(isthmus_part_of_lane(own, k));
  }
#endif
}
