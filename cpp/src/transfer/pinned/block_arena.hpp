// Ranges of memory, cut into blocks and joined again. Doesn't know what the memory is, and never
// accesses it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "driver/driver.hpp"
#include "host/memory/pages.hpp"

namespace isthmus::transfer {

/// A cache line: blocks of different threads never share one.
inline constexpr std::size_t kGranuleBytes = 64;
/// Up to this size the classes are the multiples of a granule.
inline constexpr std::size_t kLinearBytes = 512;
inline constexpr std::size_t kNumClasses = 8 + 8 * 55;  ///< up to 2^64 bytes

/// The distance between classes around a size: the power of two below it, over eight.
constexpr std::size_t class_step_bytes(std::size_t size_bytes) noexcept {
  return size_bytes <= kLinearBytes ? kGranuleBytes : std::bit_floor(size_bytes - 1) / 8;
}

/// The smallest class that holds `size_bytes`, which is > 0 and at most 2^62.
constexpr std::size_t class_bytes(std::size_t size_bytes) noexcept {
  const std::size_t step_bytes = class_step_bytes(size_bytes);
  return host::round_up(size_bytes, step_bytes);
}

/// The number of the largest class that is at most `size_bytes`, a multiple of a granule.
constexpr std::size_t class_index(std::size_t size_bytes) noexcept {
  if (size_bytes < kLinearBytes) return size_bytes / kGranuleBytes;
  const auto power = static_cast<std::size_t>(std::bit_width(size_bytes)) - 1;
  const std::size_t eighth = (size_bytes >> (power - 3)) & 7U;
  return 8 + 8 * (power - 9) + eighth;
}

struct BlockRegion;

enum class BlockState : std::uint8_t {
  free,
  used,
  pending,  ///< freed, but work in a stream may still use it
  parked,   ///< freed while its stream was captured
};

/// A part of a region. `before` and `after` link neighbours in the region; `previous` and `next`
/// link the free blocks of a class, or the pending blocks of a stream.
struct Block {
  std::byte* data = nullptr;
  std::size_t size_bytes = 0;
  std::size_t requested_bytes = 0;
  BlockRegion* region = nullptr;
  Block* before = nullptr;
  Block* after = nullptr;
  Block* previous = nullptr;
  Block* next = nullptr;
  BlockState state = BlockState::free;
  std::uint64_t stream_id = 0;  ///< while pending
  CUevent event = nullptr;      ///< while pending
};

/// A list of blocks. Owns nothing.
class BlockList {
public:
  Block* first() const noexcept { return first_; }
  Block* last() const noexcept { return last_; }
  bool empty() const noexcept { return first_ == nullptr; }
  void push_back(Block* block) noexcept;
  void remove(Block* block) noexcept;

private:
  Block* first_ = nullptr;
  Block* last_ = nullptr;
};

struct BlockRegion {
  std::byte* base = nullptr;
  std::size_t size_bytes = 0;
  bool whole = false;  ///< never cut: one block
  Block* first = nullptr;

  /// True if none of its blocks is used or pending.
  bool unused() const noexcept {
    return first->after == nullptr && first->state == BlockState::free;
  }
};

/// Not synchronised.
class BlockArena {
public:
  /// Adds memory: to cut blocks from, or as one whole block.
  ///
  /// base        aligned to kGranuleBytes
  /// size_bytes  a multiple of kGranuleBytes
  BlockRegion* add_region(std::byte* base, std::size_t size_bytes, bool whole);
  /// Forgets an unused region.
  void remove_region(BlockRegion* region) noexcept;

  /// Cuts a block of exactly class_bytes(size_bytes), at the given alignment (a power of two).
  ///
  /// Returns     null if there is no free block for it.
  Block* take(std::size_t size_bytes, std::size_t alignment_bytes);
  /// Takes the smallest free whole region of at least `size_bytes` and at most `max_bytes`. Null if
  /// there is none.
  Block* take_whole(std::size_t size_bytes, std::size_t max_bytes) noexcept;
  /// Makes a block free and joins it with free neighbours. The pointer is invalid afterwards.
  void give(Block* block) noexcept;

private:
  Block* find(std::size_t size_bytes) const noexcept;
  /// Cuts a block after `size_bytes`; returns the rest, a new block in state `free` and in no list.
  Block* split(Block* block, std::size_t size_bytes) noexcept;
  void forget(Block* block) noexcept;
  void join_after(Block* block) noexcept;
  void add_free(Block* block) noexcept;
  void remove_free(Block* block) noexcept;
  void reserve_blocks(std::size_t num_blocks);
  Block* new_block() noexcept;

  std::array<BlockList, kNumClasses> free_;
  std::array<std::uint64_t, (kNumClasses + 63) / 64> has_free_{};
  BlockList free_whole_;
  std::map<std::byte*, std::unique_ptr<BlockRegion>> regions_;
  std::deque<Block> blocks_;
  BlockList spare_blocks_;
  std::size_t num_spare_blocks_ = 0;
};

/// The used blocks by address: a hash table with open addressing. Not synchronised.
class BlockIndex {
public:
  BlockIndex();
  /// Makes room for one more, so that the next add() can't fail.
  void reserve_one();
  void add(Block* block) noexcept;
  /// Returns     the block that begins there, or null.
  Block* find(const void* address) const noexcept;
  void remove(const Block* block) noexcept;
  std::size_t size() const noexcept { return num_blocks_; }

private:
  std::size_t slot_of(const void* address) const noexcept;
  std::size_t next(std::size_t slot) const noexcept { return (slot + 1) & (slots_.size() - 1); }

  std::vector<Block*> slots_;  ///< their number is a power of two
  std::size_t num_blocks_ = 0;
};

}  // namespace isthmus::transfer
