// The pinned memory of a PieceMover, for its own files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "device/stream.hpp"
#include "transfer/movers/piece_mover.hpp"

namespace isthmus::transfer {

inline constexpr std::size_t kMaxEntries = 4096;
inline constexpr std::size_t kStagedBytes = std::size_t{4} << 20U;
inline constexpr std::size_t kNumHalves = 2;

/// What the kernel is told of a piece: see kernels/pieces.cu.
struct PieceMover::Entry {
  std::uint64_t target;
  std::uint64_t source;
  std::uint64_t size_bytes;
};

/// Memory for one launch.
struct PieceMover::Half {
  Half(const Context& context, std::byte* begin)
      : entries(reinterpret_cast<Entry*>(begin)),
        staged(begin + kMaxEntries * sizeof(Entry)),
        left(context, Event::Timing::disabled) {}
  static constexpr std::size_t kBytes = kMaxEntries * sizeof(Entry) + kStagedBytes;

  Entry* entries;
  std::byte* staged;
  Event left;  ///< the launch that used it has ended
};

struct PieceMover::Memory {
  explicit Memory(const Context& context)
      : pinned(context, kNumHalves * Half::kBytes),
        halves{Half(context, pinned.data()), Half(context, pinned.data() + Half::kBytes)} {}

  PinnedBuffer pinned;
  std::array<Half, kNumHalves> halves;
  std::size_t next = 0;
};

}  // namespace isthmus::transfer
