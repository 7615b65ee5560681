// What the host tells the kernels of blocks.cu.
//
// Three compilers read this file: NVRTC, that of the emulated driver's kernels, and that of the host's
// side (cpp/src/transfer/movers/block_mover.hpp), so that there is one source of each struct.
#pragma once

#if defined(__CUDACC__) || defined(ISTHMUS_HOST_KERNELS)
#include "portable.cuh"
#else
#include <cstdint>
using std::int32_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;
#endif

/// Layers that share their indices in one launch. The host splits longer lists.
constexpr uint32_t kIsthmusLayers = 64;
/// Words in a row: one for each lane of a warp. Rows that a warp has in flight.
constexpr uint32_t kIsthmusRowWords = 32;
constexpr uint32_t kIsthmusRows = 4;
/// Parts of a pool, whose blocks go one part after the other, so that few pages are in use at a time.
constexpr uint32_t kIsthmusBins = 1024;

/// What is copied: block source_index[i] of a source to block target_index[i] of its target, for
/// each i and each layer.
struct IsthmusBlocks {
  uint64_t targets[kIsthmusLayers] = {};
  uint64_t sources[kIsthmusLayers] = {};
  uint64_t target_stride = 0, source_stride = 0;  ///< in bytes
  uint64_t target_count = 0, source_count = 0;    ///< blocks in a pool: other indices are reported
  uint64_t target_index = 0, source_index = 0;    ///< addresses of int32 or int64
  uint64_t block_bytes = 0, num_blocks = 0, num_layers = 0;
  uint64_t report = 0;      ///< uint64: the least of 2 * position, + 1 if the source's is wrong
  uint64_t num_pieces = 0;  ///< of all blocks and layers. BlockMover's, like the following
  uint64_t pieces_a_block = 0;
  uint32_t piece_bytes = 0;  ///< of all pieces of a block but the last
  uint32_t word_bytes = 0;   ///< of which both ends of each piece are multiples: 16, 8, 4 or 1
  uint32_t target_index_bytes = 8, source_index_bytes = 8;  ///< 4 or 8
  uint32_t group = 0;     ///< pieces whose places a warp finds at once: up to 32
  uint32_t is_paced = 0;  ///< 1: see IsthmusPace
};

/// Pairs of indices [first, first + count), which are sorted by where their blocks lie at one end.
struct IsthmusPairs {
  uint64_t first, count;
  uint64_t targets, sources;  ///< where they come to, as numbers of the same bytes
  uint32_t* bins;             ///< as in isthmus_count_bins
  uint32_t by_target;         ///< else by the source
};

/// A piece between two addresses.
struct IsthmusDescriptor {
  uint64_t target, source, size_bytes;
};
