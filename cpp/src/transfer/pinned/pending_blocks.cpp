#include "transfer/pinned/pinned_registry.hpp"

namespace isthmus::transfer {
namespace {

bool fits(const Block& block, std::size_t size_bytes, std::size_t max_bytes,
          std::size_t alignment_bytes) {
  return block.size_bytes >= size_bytes && block.size_bytes <= max_bytes &&
         reinterpret_cast<std::uintptr_t>(block.data) % alignment_bytes == 0;
}

}  // namespace

void PendingBlocks::add(Block* block) {
  StreamBlocks& stream = streams_[block->stream_id];
  stream.blocks.push_back(block);
  ++stream.num_blocks;
  ++num_blocks_;
}

Block* PendingBlocks::take(std::uint64_t stream_id, std::size_t size_bytes, std::size_t max_bytes,
                           std::size_t alignment_bytes) noexcept {
  const auto found = streams_.find(stream_id);
  if (found == streams_.end()) return nullptr;
  Block* block = found->second.blocks.last();
  // A program that frees blocks of many sizes in one stream must not search them all each time.
  for (int looked_at = 0; block != nullptr && looked_at < 32; ++looked_at) {
    if (fits(*block, size_bytes, max_bytes, alignment_bytes)) {
      remove(found->second, block);
      return block;
    }
    block = block->previous;
  }
  return nullptr;
}

void PendingBlocks::remove(StreamBlocks& stream, Block* block) noexcept {
  stream.blocks.remove(block);
  --stream.num_blocks;
  --num_blocks_;
}

}  // namespace isthmus::transfer
