// What the copies of a PinnedPool share: regions, their blocks, and who may take which.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <isthmus/pinned.hpp>

#include "device/context.hpp"
#include "device/stream.hpp"
#include "host/memory/first_touch.hpp"
#include "host/memory/pages.hpp"
#include "transfer/pinned/block_arena.hpp"
#include "transfer/pinned/pinned_region.hpp"

namespace isthmus::transfer {

/// The most that a block of this requested size may take: an eighth more.
constexpr std::size_t with_waste(std::size_t size_bytes) noexcept {
  return size_bytes + size_bytes / 8;
}

/// The size of a region for one block: whole huge pages, or small pages if huge ones waste too
/// much.
inline std::size_t whole_region_bytes(std::size_t size_bytes) noexcept {
  const std::size_t huge_bytes = host::round_up(size_bytes, host::kHugePageBytes);
  return huge_bytes <= with_waste(size_bytes) ? huge_bytes
                                              : host::round_up(size_bytes, host::page_bytes());
}

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
    // More than are added at a time, so that the list becomes empty eventually.
    if (found != streams_.end()) reap_list(found->second, 2, complete, give);
  }
  bool empty() const noexcept { return num_blocks_ == 0; }

private:
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

/// See PinnedPool. One mutex guards everything; it is never held while memory is pinned or
/// unpinned.
class PinnedRegistry {
public:
  PinnedRegistry(const Driver& driver, int device, const PinnedPoolOptions& options);
  ~PinnedRegistry();
  PinnedRegistry(const PinnedRegistry&) = delete;
  PinnedRegistry& operator=(const PinnedRegistry&) = delete;

  void* allocate(std::size_t size_bytes, std::uintptr_t stream, std::size_t alignment_bytes);
  /// Allocates for anybody what needs neither pinning nor the driver: never waits for either.
  ///
  /// size_bytes  > 0
  /// Returns     null if no memory is free
  /// Throws      UsageError in a forked child; std::bad_alloc
  void* allocate_free(std::size_t size_bytes);
  void free(void* memory, std::uintptr_t stream);
  void trim(std::size_t kept_bytes);
  PinnedPoolStats stats() const;
  bool contains(const void* memory, std::size_t size_bytes) const;
  int device() const noexcept { return context_.device().ordinal; }

private:
  using Lock = std::unique_lock<std::mutex>;
  struct Request {
    std::size_t size_bytes;
    std::size_t alignment_bytes;
    bool in_stream;
    std::uint64_t stream_id;
  };
  struct OwnedRegion {
    PinnedRegion memory;
    BlockRegion* blocks;
  };
  /// The place in a stream at which a block was freed.
  struct Mark {
    bool captured = false;
    std::uint64_t stream_id = 0;
    CUevent event = nullptr;
  };

  void require_own_process() const;
  bool wants_whole_region(const Request& request) const noexcept;
  std::uint64_t id_of(CUstream stream) const;

  Block* take_cached(Lock& lock, const Request& request);
  Block* take(const Request& request);
  Block* pin_whole(Lock& lock, const Request& request);
  Block* pin_shared(Lock& lock, const Request& request);
  void add_region(Lock& lock, std::size_t size_bytes, bool whole);
  PinnedRegion pin(Lock& lock, std::size_t size_bytes);
  void reserve(Lock& lock, std::size_t size_bytes);
  [[noreturn]] void throw_over_cap(std::size_t size_bytes) const;

  Block* claim(void* memory);
  void free_in_stream(void* memory, CUstream stream);
  Mark mark(CUstream stream, CUevent spare);
  CUevent make_event();
  void reap(Lock& lock);
  bool complete(CUevent event) const noexcept;
  void give_pending(Block* block) noexcept;
  void give_parked() noexcept;
  /// Unpins unused regions until at most `kept_bytes` are pinned. Returns true if there were any.
  bool release_unused(Lock& lock, std::size_t kept_bytes);
  std::vector<OwnedRegion> take_unused(std::size_t kept_bytes);

  Context context_;
  PinnedPoolOptions options_;
  std::uint64_t generation_;

  mutable std::mutex mutex_;
  std::mutex growth_;  ///< taken before `mutex_`: threads that lack memory at the same time pin one
                       ///< region
  std::map<const std::byte*, OwnedRegion> regions_;
  BlockArena arena_;
  BlockIndex used_;
  PendingBlocks pending_;
  BlockList parked_;
  std::deque<Event> events_;
  std::vector<CUevent> idle_events_;
  PinnedPoolStats stats_;
  std::atomic<std::int64_t> allocate_ns_{0};
  std::atomic<std::int64_t> free_ns_{0};
};

}  // namespace isthmus::transfer
