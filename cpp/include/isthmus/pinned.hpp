// Pinned host memory: pinned quickly, kept in a pool, reused in stream order.
//
// cuMemHostAlloc pins some 3 GB/s, because it faults page by page in one thread. PinnedRegion maps
// huge pages, touches them in several threads and registers the result: some 25 GB/s. PinnedPool
// keeps such regions and gives out parts of them, so most allocations need no driver call.
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
  int num_threads = 0;  ///< threads that touch pages; 0: as many as help, but no more than there
                        ///< are spare cores
  int numa_node = -1;   ///< the NUMA node for the pages; -1: the device's node
  /// The most bytes that one call registers with the driver. Each call blocks other CUDA calls on
  /// the whole machine for its duration (some 20 ms per GiB). But one driver copy must not cross
  /// from one piece into the next: the driver refuses it (CUDA_ERROR_INVALID_VALUE). isthmus::copy
  /// takes care of that; other libraries don't, so blocks beyond 1 GiB that are used with them need
  /// a larger piece. A multiple of 2 MiB.
  std::size_t max_piece_bytes = std::size_t{1} << 30U;
  /// Called now and then from the calling thread; if it returns true, the work stops and is undone.
  /// May be empty.
  std::function<bool()> interrupted = {};
};

/// Where the time of pinning went, in seconds.
struct PinCosts {
  double touch_seconds = 0;
  double register_seconds = 0;
  double total_seconds = 0;  ///< less than the sum if the two overlap
  bool huge_pages = false;   ///< true if the kernel gave huge pages for most of the memory
};

struct PinnedPoolOptions {
  std::size_t max_bytes = 0;  ///< the most bytes pinned at a time; 0: half of the machine's or
                              ///< cgroup's memory
  std::size_t region_bytes = std::size_t{64} << 20U;  ///< bytes pinned at once for small blocks
  PinOptions pin = {};
};

/// Counters of a pool since it was created, in bytes and seconds.
struct PinnedPoolStats {
  std::uint64_t num_allocations = 0;  ///< all allocations
  std::uint64_t num_from_cache = 0;   ///< allocations that needed no pinning
  std::uint64_t num_pins = 0;         ///< regions pinned
  std::uint64_t num_unpins = 0;       ///< regions unpinned
  std::size_t requested_bytes = 0;    ///< requested for blocks in use
  std::size_t used_bytes = 0;         ///< the size of blocks in use, including rounding
  std::size_t pending_bytes = 0;      ///< freed, but work in a stream may still use them
  std::size_t pinned_bytes = 0;       ///< of all regions
  std::size_t peak_pinned_bytes = 0;
  double allocate_seconds = 0;  ///< spent in allocate(), pinning included
  double free_seconds = 0;
  double pin_seconds = 0;
  double unpin_seconds = 0;
};

/// Pinned memory for one device's copies, mapped on it and portable to all contexts. It has value
/// semantics: copies share the pool. May be used from any thread.
///
/// Sizes are rounded up by at most 12.5 % (below 512 bytes, to whole 64 bytes); blocks are split
/// and joined. A block of more than half a region gets its own region, whose size in huge pages is
/// exact (or in small pages, if huge pages would waste more than 12.5 %). In a forked child every
/// member throws UsageError and touches nothing of the parent's: its pages aren't mapped there.
///
/// May be used while streams are captured: the pool then makes no call that a capture forbids. A
/// block that is freed in a captured stream (or in the default stream while a stream that it waits
/// for is captured) is not given out again until trim() is called, because the graph may be
/// launched repeatedly. Before calling trim(), and before destroying the pool, the caller must
/// destroy such graphs.
class ISTHMUS_API PinnedPool {
public:
  /// device      ordinal
  /// Throws      UsageError (no such device), Unavailable, DriverError.
  PinnedPool(const Driver& driver, int device, const PinnedPoolOptions& options = {});

  /// Allocates pinned memory, at least 64-byte aligned, with undefined contents.
  ///
  /// size_bytes  > 0
  /// stream      a CUstream of the device's primary context: work in this stream, not the CPU, is
  ///             the first to use the memory. Memory that was freed in the same stream is given out
  ///             again without waiting for that stream's work. With kNoStream anybody may use the
  ///             memory at once: work of streams that used it is complete. Makes no driver call if
  ///             any memory is free.
  /// alignment_bytes  a power of two up to 2 MiB
  /// Throws      UsageError; Unavailable if the host's memory, a memlock limit or max_bytes (the
  ///             message names it) doesn't allow the allocation; Interrupted: see PinOptions. The
  ///             pool is unchanged then.
  void* allocate(std::size_t size_bytes, std::uintptr_t stream = kNoStream,
                 std::size_t alignment_bytes = 64);

  /// Gives memory back. With a stream: work that is already enqueued there may still use the
  /// memory; it is given out to others only when that work is done. Without a stream: nothing uses
  /// it any more.
  ///
  /// Throws      UsageError if `memory` isn't a block of this pool in use, or `stream` isn't a
  ///             stream; DriverError. The block stays in use then.
  void free(void* memory, std::uintptr_t stream = kNoStream);

  /// Unpins regions that no block uses until at most `kept_bytes` remain pinned. Blocks that were
  /// freed in captured streams may now be given out again: the caller guarantees that the graphs
  /// are destroyed and the streams' work is complete.
  void trim(std::size_t kept_bytes = 0);

  PinnedPoolStats stats() const;
  /// True if [memory, memory + size_bytes) lies in pinned memory of this pool.
  bool contains(const void* memory, std::size_t size_bytes) const;
  int device() const noexcept;
  /// True if both are copies of the same pool: memory from one may be given back to the other.
  bool same_pool(const PinnedPool& other) const noexcept { return registry_ == other.registry_; }

  static constexpr std::uintptr_t kNoStream = ~std::uintptr_t{0};

private:
  std::shared_ptr<transfer::PinnedRegistry> registry_;
};

}  // namespace isthmus
