// Moves many small pieces between scattered places in mapped host memory and one packed block of
// device memory: the cost of one launch instead of many copies.
//
// Piece i lies at host + (i * slot_step % num_pieces) * slot_bytes and at device + i * piece_bytes.
// Launch: any grid. Each lane moves 16 bytes an iteration if pieces and slots allow it, else 4.
// CPU reference: measure/bandwidth/many_copies.cpp.
#include "portable.cuh"

struct alignas(16) IsthmusSixteenBytes {
  uint64_t low, high;
};

struct IsthmusPieces {
  uint64_t piece_bytes, slot_bytes, num_pieces, slot_step;
};

template <typename Word>
__device__ inline void isthmus_gather_words(const uint8_t* host, uint8_t* device,
                                            const IsthmusPieces& pieces) {
  const uint64_t words_per_piece = pieces.piece_bytes / sizeof(Word);
  const uint64_t num_words = words_per_piece * pieces.num_pieces;
  for (uint64_t i = isthmus_lane(); i < num_words; i += isthmus_num_lanes()) {
    const uint64_t piece = i / words_per_piece;
    const uint64_t slot = piece * pieces.slot_step % pieces.num_pieces;
    const uint8_t* from =
        host + slot * pieces.slot_bytes + (i - piece * words_per_piece) * sizeof(Word);
    reinterpret_cast<Word*>(device)[i] = *reinterpret_cast<const Word*>(from);
  }
}

template <typename Word>
__device__ inline void isthmus_scatter_words(uint8_t* host, const uint8_t* device,
                                             const IsthmusPieces& pieces) {
  const uint64_t words_per_piece = pieces.piece_bytes / sizeof(Word);
  const uint64_t num_words = words_per_piece * pieces.num_pieces;
  for (uint64_t i = isthmus_lane(); i < num_words; i += isthmus_num_lanes()) {
    const uint64_t piece = i / words_per_piece;
    const uint64_t slot = piece * pieces.slot_step % pieces.num_pieces;
    uint8_t* to = host + slot * pieces.slot_bytes + (i - piece * words_per_piece) * sizeof(Word);
    *reinterpret_cast<Word*>(to) = reinterpret_cast<const Word*>(device)[i];
  }
}

__device__ inline bool isthmus_in_sixteens(const IsthmusPieces& pieces) {
  return (pieces.piece_bytes | pieces.slot_bytes) % sizeof(IsthmusSixteenBytes) == 0;
}

/// host         pinned host memory mapped on the device, [num_pieces * slot_bytes], 16-byte aligned
/// device       device, [num_pieces * piece_bytes], 16-byte aligned
/// piece_bytes  a multiple of 4
/// slot_bytes   a multiple of 4, >= piece_bytes
/// slot_step    without a divisor in common with num_pieces
extern "C" __global__ void isthmus_gather(const uint8_t* host, uint8_t* device,
                                          uint64_t piece_bytes, uint64_t slot_bytes,
                                          uint64_t num_pieces, uint64_t slot_step) {
  const IsthmusPieces pieces{piece_bytes, slot_bytes, num_pieces, slot_step};
  isthmus_note_read(host, piece_bytes * num_pieces);
  if (isthmus_in_sixteens(pieces)) {
    isthmus_gather_words<IsthmusSixteenBytes>(host, device, pieces);
  } else {
    isthmus_gather_words<uint32_t>(host, device, pieces);
  }
}

/// The reverse direction; arguments like isthmus_gather.
extern "C" __global__ void isthmus_scatter(uint8_t* host, const uint8_t* device,
                                           uint64_t piece_bytes, uint64_t slot_bytes,
                                           uint64_t num_pieces, uint64_t slot_step) {
  const IsthmusPieces pieces{piece_bytes, slot_bytes, num_pieces, slot_step};
  isthmus_note_write(host, piece_bytes * num_pieces);
  if (isthmus_in_sixteens(pieces)) {
    isthmus_scatter_words<IsthmusSixteenBytes>(host, device, pieces);
  } else {
    isthmus_scatter_words<uint32_t>(host, device, pieces);
  }
}
