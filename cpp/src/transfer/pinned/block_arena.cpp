#include "transfer/pinned/block_arena.hpp"

#include <bit>
#include <utility>

namespace isthmus::transfer {
namespace {

constexpr std::size_t kBitsPerWord = 64;

std::size_t bytes_until_aligned(const std::byte* data, std::size_t alignment_bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  return (alignment_bytes - address % alignment_bytes) % alignment_bytes;
}

}  // namespace

void BlockList::push_back(Block* block) noexcept {
  block->previous = last_;
  block->next = nullptr;
  (last_ == nullptr ? first_ : last_->next) = block;
  last_ = block;
}

void BlockList::remove(Block* block) noexcept {
  (block->previous == nullptr ? first_ : block->previous->next) = block->next;
  (block->next == nullptr ? last_ : block->next->previous) = block->previous;
  block->previous = nullptr;
  block->next = nullptr;
}

BlockRegion* BlockArena::add_region(std::byte* base, std::size_t size_bytes, bool whole) {
  reserve_blocks(1);
  auto made = std::make_unique<BlockRegion>(BlockRegion{base, size_bytes, whole, nullptr});
  BlockRegion* region = made.get();
  regions_.emplace(base, std::move(made));
  region->first = new_block();
  *region->first = Block{.data = base, .size_bytes = size_bytes, .region = region};
  add_free(region->first);
  return region;
}

void BlockArena::remove_region(BlockRegion* region) noexcept {
  remove_free(region->first);
  forget(region->first);
  regions_.erase(region->base);
}

Block* BlockArena::take(std::size_t size_bytes, std::size_t alignment_bytes) {
  const std::size_t needed_bytes = class_bytes(size_bytes);
  // Any block of this size has an aligned part that is large enough.
  const std::size_t margin_bytes =
      alignment_bytes > kGranuleBytes ? alignment_bytes - kGranuleBytes : 0;
  Block* block = find(needed_bytes + margin_bytes);
  if (block == nullptr) return nullptr;
  reserve_blocks(2);
  remove_free(block);
  const std::size_t before_bytes = bytes_until_aligned(block->data, alignment_bytes);
  if (before_bytes > 0) {
    Block* aligned = split(block, before_bytes);
    add_free(block);
    block = aligned;
  }
  if (block->size_bytes > needed_bytes) add_free(split(block, needed_bytes));
  block->state = BlockState::used;
  block->requested_bytes = size_bytes;
  return block;
}

Block* BlockArena::take_whole(std::size_t size_bytes, std::size_t max_bytes) noexcept {
  Block* best = nullptr;
  for (Block* each = free_whole_.first(); each != nullptr; each = each->next) {
    if (each->size_bytes < size_bytes || each->size_bytes > max_bytes) continue;
    if (best == nullptr || each->size_bytes < best->size_bytes) best = each;
  }
  if (best == nullptr) return nullptr;
  remove_free(best);
  best->state = BlockState::used;
  best->requested_bytes = size_bytes;
  return best;
}

void BlockArena::give(Block* block) noexcept {
  block->state = BlockState::free;
  block->requested_bytes = 0;
  if (!block->region->whole) {
    if (block->after != nullptr && block->after->state == BlockState::free) {
      remove_free(block->after);
      join_after(block);
    }
    if (block->before != nullptr && block->before->state == BlockState::free) {
      block = block->before;
      remove_free(block);
      join_after(block);
    }
  }
  add_free(block);
}

Block* BlockArena::find(std::size_t size_bytes) const noexcept {
  // If the size isn't a class's own size, blocks in its class may be smaller than it.
  const std::size_t first_class = class_index(class_bytes(size_bytes));
  std::size_t word = first_class / kBitsPerWord;
  std::uint64_t bits = has_free_[word] & (~std::uint64_t{0} << (first_class % kBitsPerWord));
  while (bits == 0) {
    if (++word == has_free_.size()) return nullptr;
    bits = has_free_[word];
  }
  return free_[word * kBitsPerWord + static_cast<std::size_t>(std::countr_zero(bits))].last();
}

Block* BlockArena::split(Block* block, std::size_t size_bytes) noexcept {
  Block* rest = new_block();
  *rest = Block{.data = block->data + size_bytes,
                .size_bytes = block->size_bytes - size_bytes,
                .region = block->region,
                .before = block,
                .after = block->after};
  if (block->after != nullptr) block->after->before = rest;
  block->after = rest;
  block->size_bytes = size_bytes;
  return rest;
}

void BlockArena::join_after(Block* block) noexcept {
  Block* joined = block->after;
  block->size_bytes += joined->size_bytes;
  block->after = joined->after;
  if (joined->after != nullptr) joined->after->before = block;
  forget(joined);
}

void BlockArena::add_free(Block* block) noexcept {
  block->state = BlockState::free;
  if (block->region->whole) {
    free_whole_.push_back(block);
    return;
  }
  const std::size_t index = class_index(block->size_bytes);
  free_[index].push_back(block);
  has_free_[index / kBitsPerWord] |= std::uint64_t{1} << (index % kBitsPerWord);
}

void BlockArena::remove_free(Block* block) noexcept {
  if (block->region->whole) {
    free_whole_.remove(block);
    return;
  }
  const std::size_t index = class_index(block->size_bytes);
  free_[index].remove(block);
  if (free_[index].empty()) {
    has_free_[index / kBitsPerWord] &= ~(std::uint64_t{1} << (index % kBitsPerWord));
  }
}

void BlockArena::forget(Block* block) noexcept {
  spare_blocks_.push_back(block);
  ++num_spare_blocks_;
}

/// Afterwards new_block() can't fail this many times.
void BlockArena::reserve_blocks(std::size_t num_blocks) {
  while (num_spare_blocks_ < num_blocks) forget(&blocks_.emplace_back());
}

Block* BlockArena::new_block() noexcept {
  Block* block = spare_blocks_.last();
  spare_blocks_.remove(block);
  --num_spare_blocks_;
  return block;
}

BlockIndex::BlockIndex() : slots_(1024) {}

void BlockIndex::reserve_one() {
  // At most half full: probe sequences stay short.
  if (2 * (num_blocks_ + 1) <= slots_.size()) return;
  std::vector<Block*> before(2 * slots_.size());
  before.swap(slots_);
  num_blocks_ = 0;
  for (Block* block : before) {
    if (block != nullptr) add(block);
  }
}

std::size_t BlockIndex::slot_of(const void* address) const noexcept {
  // Fibonacci hashing: multiples of the golden ratio spread neighbours. Source: Knuth, TAOCP 3,
  // 6.4.
  const auto granule =
      static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address) / kGranuleBytes);
  const auto bits = static_cast<unsigned>(std::countr_zero(slots_.size()));
  return static_cast<std::size_t>((granule * 0x9E37'79B9'7F4A'7C15U) >> (64U - bits));
}

void BlockIndex::add(Block* block) noexcept {
  std::size_t slot = slot_of(block->data);
  while (slots_[slot] != nullptr) slot = next(slot);
  slots_[slot] = block;
  ++num_blocks_;
}

Block* BlockIndex::find(const void* address) const noexcept {
  std::size_t slot = slot_of(address);
  while (slots_[slot] != nullptr && slots_[slot]->data != address) slot = next(slot);
  return slots_[slot];
}

void BlockIndex::remove(const Block* block) noexcept {
  std::size_t hole = slot_of(block->data);
  while (slots_[hole] != block) hole = next(hole);
  const std::size_t mask = slots_.size() - 1;
  // Moves up the entries that it displaced, so that no search ends at the hole.
  for (std::size_t slot = next(hole); slots_[slot] != nullptr; slot = next(slot)) {
    const std::size_t displaced = (slot - slot_of(slots_[slot]->data)) & mask;
    if (displaced < ((slot - hole) & mask)) continue;
    slots_[hole] = slots_[slot];
    hole = slot;
  }
  slots_[hole] = nullptr;
  --num_blocks_;
}

}  // namespace isthmus::transfer
