// Pinned host memory: made fast, kept in a pool, reused in stream order.
//
// cuMemHostAlloc pins some 3 GB/s, because it faults page by page in one thread. PinnedRegion maps
// huge pages, touches them in several threads and registers what is there: some 25 GB/s. PinnedPool
// keeps such regions and gives out parts of them, so that most allocations cost no driver call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <isthmus/driver.hpp>

namespace isthmus {

namespace transfer {
class PinnedRegistry;
}

/// How host memory is pinned.
struct PinOptions {
  int num_threads = 0;  ///< that touch pages; 0: as many as pay, never more than cores to spare
  int numa_node = -1;   ///< where the pages shall lie; -1: the node of the device
  /// Registered with the driver in one call: it locks out other CUDA calls meanwhile, on the whole
  /// machine (some 20 ms a GiB). But one driver copy must not cross from one piece to the next: it
  /// is refused (CUDA_ERROR_INVALID_VALUE). isthmus::copy knows that; other libraries don't, and
  /// for them blocks beyond 1 GiB want a larger piece. A multiple of 2 MiB.
  std::size_t max_piece_bytes = std::size_t{1} << 30U;
  /// Asked now and then from the calling thread; true stops, and all is undone. May be empty.
  std::function<bool()> interrupted = {};
};

/// Where the time of pinning went, in seconds.
struct PinCosts {
  double touch_seconds = 0;
  double register_seconds = 0;
  double total_seconds = 0;  ///< less than the sum where the two overlap
  bool huge_pages = false;   ///< true if the kernel gave huge pages for most of it
};

struct PinnedPoolOptions {
  std::size_t max_bytes = 0;  ///< pinned at a time; 0: half of the machine's or cgroup's
  std::size_t region_bytes = std::size_t{64} << 20U;  ///< pinned at once for small blocks
  PinOptions pin = {};
};

/// Counters of a pool since it was made. Bytes and seconds.
struct PinnedPoolStats {
  std::uint64_t num_allocations = 0;  ///< all there were
  std::uint64_t num_from_cache = 0;   ///< of them, those that needed no pinning
  std::uint64_t num_pins = 0;         ///< regions pinned
  std::uint64_t num_unpins = 0;       ///< regions given back
  std::size_t requested_bytes = 0;    ///< asked for by blocks in use
  std::size_t used_bytes = 0;         ///< given to blocks in use, rounding included
  std::size_t pending_bytes = 0;      ///< freed, but work in a stream may still use them
  std::size_t pinned_bytes = 0;       ///< of all regions
  std::size_t peak_pinned_bytes = 0;
  double allocate_seconds = 0;  ///< spent in allocate(), pinning included
  double free_seconds = 0;
  double pin_seconds = 0;
  double unpin_seconds = 0;
};

/// Pinned memory for one device's copies, mapped on it and portable to all contexts. A value:
/// copies share the pool. May be used from any thread.
///
/// Sizes are rounded up by 12.5 % at most (to whole 64 bytes below 512); blocks are split and
/// joined. Blocks of more than half a region get a region of their own, of exactly their size in
/// huge pages (or in small ones, if that would waste more than 12.5 %). In a forked child every
/// member throws UsageError, and nothing of the parent's is touched: its pages aren't there.
///
/// May be used while streams are captured: it makes no call then that a capture forbids. A block
/// that is freed in a captured stream (or in the default stream while one that it waits for is
/// captured) is not given out again until trim() is called, since the graph may be launched again
/// and again; before trim(), and before the pool goes, the caller makes sure that such graphs are
/// gone.
class ISTHMUS_API PinnedPool {
public:
  /// device      ordinal
  /// Throws      UsageError (no such device), Unavailable, DriverError.
  PinnedPool(const Driver& driver, int device, const PinnedPoolOptions& options = {});

  /// Gives pinned memory, at least 64-byte aligned, of undefined contents.
  ///
  /// size_bytes  > 0
  /// stream      a CUstream of the device's primary context: the first to use the memory is work in
  ///             this stream, and not the CPU. Memory that was freed in the same stream is given
  ///             out again without waiting for its work. With kNoStream: anybody may use it at
  ///             once, so work in streams is complete. Makes no driver call if any memory is free.
  /// alignment_bytes  a power of two up to 2 MiB
  /// Throws      UsageError; Unavailable if the host's memory, a memlock limit or max_bytes don't
  ///             allow it, with the limit's name; Interrupted: see PinOptions. The pool is as it
  ///             was then.
  void* allocate(std::size_t size_bytes, std::uintptr_t stream = kNoStream,
                 std::size_t alignment_bytes = 64);

  /// Gives memory back. With a stream: work enqueued there until now may still use it, and it is
  /// given out to others only when that is done. Without: nothing uses it any more.
  ///
  /// Throws      UsageError if `memory` isn't a block of this pool in use; DriverError if the
  /// stream
  ///             is none: the block stays in use then.
  void free(void* memory, std::uintptr_t stream = kNoStream);

  /// Unpins regions that no block uses until at most `kept_bytes` remain pinned. Blocks that
  /// were freed in captured streams are given out again from here on: the caller has seen to it
  /// that the graphs are gone, and the streams' work complete.
  void trim(std::size_t kept_bytes = 0);

  PinnedPoolStats stats() const;
  /// True if [memory, memory + size_bytes) lies in pinned memory of this pool.
  bool contains(const void* memory, std::size_t size_bytes) const;
  int device() const noexcept;
  /// True if both are copies of one: what one gave, the other takes back.
  bool same_pool(const PinnedPool& other) const noexcept { return registry_ == other.registry_; }

  static constexpr std::uintptr_t kNoStream = ~std::uintptr_t{0};

private:
  std::shared_ptr<transfer::PinnedRegistry> registry_;
};

}  // namespace isthmus
