// Blocks that were freed in stream order: free once the stream has reached that place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "transfer/pinned/block_arena.hpp"

namespace isthmus::transfer {

/// Not synchronised. Makes no driver call.
class PendingBlocks {
public:
  /// Adds a block whose stream_id and event are set, after the stream's other blocks.
  void add(Block* block);

  /// Takes the block that was freed last in that stream among those that fit: `size_bytes` to
  /// `max_bytes`, with this alignment. Null if there is none.
  Block* take(std::uint64_t stream_id, std::size_t size_bytes, std::size_t max_bytes,
              std::size_t alignment_bytes) noexcept;

  /// Gives back the blocks whose events are complete, stream by stream and oldest first.
  ///
  /// complete    bool(CUevent)
  /// give        void(Block*): the block is in no list at that time
  template <typename Complete, typename Give>
  void reap(Complete complete, Give give) {
    for (auto each = streams_.begin(); each != streams_.end();) {
      reap_list(each->second, each->second.num_blocks, complete, give);
      each = each->second.blocks.empty() ? streams_.erase(each) : std::next(each);
    }
  }
  /// The same for the oldest few of one stream.
  template <typename Complete, typename Give>
  void reap_some(std::uint64_t stream_id, Complete complete, Give give) {
    const auto found = streams_.find(stream_id);
    if (found != streams_.end()) reap_list(found->second, kFew, complete, give);
  }
  bool empty() const noexcept { return num_blocks_ == 0; }

private:
  /// More than are added at a time, so that the list becomes empty eventually.
  static constexpr std::size_t kFew = 2;

  struct StreamBlocks {
    BlockList blocks;
    std::size_t num_blocks = 0;
  };
  void remove(StreamBlocks& stream, Block* block) noexcept;

  template <typename Complete, typename Give>
  void reap_list(StreamBlocks& stream, std::size_t max_blocks, Complete complete, Give give) {
    for (; max_blocks > 0 && !stream.blocks.empty(); --max_blocks) {
      Block* block = stream.blocks.first();
      if (!complete(block->event)) return;
      remove(stream, block);
      give(block);
    }
  }

  std::unordered_map<std::uint64_t, StreamBlocks> streams_;
  std::size_t num_blocks_ = 0;
};

}  // namespace isthmus::transfer
