// Moves many pieces of memory in one launch: the cost of one launch instead of many copies. Either
// end of a piece may be pinned host memory mapped on the device; the kernel then reads and writes
// it directly.
//
// Launch: any grid. A block moves one piece at a time: pieces of 16 bytes a lane suit it best.
// CPU reference: cpp/tests/transfer/many_copies_test.cpp.
#include "portable.cuh"

/// One piece; the two ends don't overlap.
struct IsthmusPiece {
  uint64_t target, source, size_bytes;
};

template <typename Word>
__device__ inline void isthmus_move_words(const IsthmusPiece& piece) {
  const uint64_t num_words = piece.size_bytes / sizeof(Word);
  Word* const target = reinterpret_cast<Word*>(piece.target);
  const Word* const source = reinterpret_cast<const Word*>(piece.source);
  for (uint64_t i = threadIdx.x; i < num_words; i += blockDim.x) target[i] = source[i];
  uint8_t* const last = reinterpret_cast<uint8_t*>(target + num_words);
  const uint8_t* const last_source = reinterpret_cast<const uint8_t*>(source + num_words);
  const uint64_t num_last = piece.size_bytes - num_words * sizeof(Word);
  for (uint64_t i = threadIdx.x; i < num_last; i += blockDim.x) last[i] = last_source[i];
}

/// pieces      pinned host memory mapped on the device, or device memory, [num_pieces]
extern "C" __global__ void isthmus_pieces(const IsthmusPiece* pieces, uint64_t num_pieces) {
  isthmus_note_read(pieces, num_pieces * sizeof *pieces);
  isthmus_await_traffic();
  for (uint64_t i = blockIdx.x; i < num_pieces; i += gridDim.x) {
    const IsthmusPiece piece = pieces[i];
    isthmus_note_read(reinterpret_cast<const void*>(piece.source), piece.size_bytes);
    isthmus_note_write(reinterpret_cast<void*>(piece.target), piece.size_bytes);
    const uint64_t addresses = piece.target | piece.source;
    if (addresses % sizeof(uint4) == 0) {
      isthmus_move_words<uint4>(piece);
    } else if (addresses % sizeof(uint32_t) == 0) {
      isthmus_move_words<uint32_t>(piece);
    } else {
      isthmus_move_words<uint8_t>(piece);
    }
  }
}
