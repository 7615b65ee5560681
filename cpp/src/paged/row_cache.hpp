// The host's side of a cache of rows: isthmus.RowCache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "device/buffers.hpp"
#include "device/kernels.hpp"
#include "device/stream.hpp"
#include "paged/host_registration.hpp"

namespace isthmus {

/// What a cache is made of.
struct RowCacheSource {
  void* table = nullptr;  ///< [num_rows][row_bytes], in host memory, a multiple of 16
  std::uint64_t num_rows = 0;
  std::uint64_t row_bytes = 0;
  bool read_only = false;
  CUdeviceptr rows = 0;  ///< [num_slots][row_bytes], device memory
  CUdeviceptr keys = 0;  ///< [num_slots] of uint32: the row of each slot; ~0: none
};

struct RowCacheOptions {
  std::uint32_t num_slots = 0;
  bool has_clock = false;   ///< else the least recently used of 32 slots make room
  bool write_back = false;  ///< rows may be stored to
};

/// IsthmusRowCache of kernels/row_cache.cuh.
struct KernelRowCache {
  std::uintptr_t table = 0;
  CUdeviceptr rows = 0, map = 0, keys = 0, words = 0, dirty = 0, jobs = 0, state = 0;
  std::uintptr_t report = 0;
  std::uint64_t num_rows = 0;
  std::uint32_t num_slots = 0, row_bytes = 0, has_clock = 0;
};

/// Indices on the device, and where slots go. IsthmusCacheKeys of kernels/row_cache.cuh.
struct RowCacheKeys {
  CUdeviceptr keys = 0;  ///< [count]
  std::uint64_t count = 0;
  CUdeviceptr slots = 0;        ///< [count] of int32
  std::uint32_t key_bytes = 8;  ///< 4 or 8: signed integers
};

/// Counts since the cache was made, of calls that have ended.
struct RowCacheStats {
  std::uint64_t calls = 0;         ///< of ensure and prefetch
  std::uint64_t keys = 0;          ///< of all calls
  std::uint64_t hits = 0;          ///< keys whose rows were there
  std::uint64_t fetched = 0;       ///< rows
  std::uint64_t evicted = 0;       ///< rows
  std::uint64_t written = 0;       ///< rows that were written back
  std::uint64_t without_room = 0;  ///< keys
  std::uint64_t beyond_table = 0;  ///< keys
};

/// Rows of a table in host memory that the device holds. Its calls are launches in a stream, read
/// nothing on the CPU, and may be captured.
///
/// Members may be called from any thread. Calls that aren't captured follow each other in whatever
/// streams they are made; a graph's are ordered by the caller.
class RowCache {
public:
  static constexpr std::uint64_t kMinRowBytes = 256, kMaxRowBytes = std::uint64_t{256} << 20U;

  /// Compiles what it needs. Complete on return.
  ///
  /// Throws      UsageError for rows or slots that can't be; OutOfDeviceMemory; Unavailable if there
  ///             is no NVRTC, or the table can't be pinned.
  RowCache(const Context& context, const Kernels& kernels, const RowCacheSource& source,
           const RowCacheOptions& options);
  /// Writes back what was stored, unless finish() or give_up() did or forbade it. A failure is
  /// reported as a failed cleanup.
  ~RowCache();
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  /// Gives keys their slots; -1 if a key is no row of the table, or found no room.
  ///
  /// Throws      UsageError: of an earlier call, as check(). Nothing was enqueued.
  void ensure(const RowCacheKeys& keys, CUstream stream);
  /// Fetches rows that a later call needs. The rows of the last ensure() keep their slots.
  ///
  /// keys        without slots
  /// Throws      as ensure()
  void prefetch(RowCacheKeys keys, CUstream stream);
  /// Marks slots as stored to; other numbers are left out.
  ///
  /// values      rows that become the slots', [slots.count][row_bytes]; 0: they are there already
  /// Throws      UsageError: the cache doesn't write back
  void update(const RowCacheKeys& slots, CUdeviceptr values, CUstream stream);
  /// Writes back what was stored.
  void flush(CUstream stream);
  /// The same after all work of the device; complete on return.
  void flush();
  /// Counts, without waiting.
  RowCacheStats stats() const noexcept;
  /// Reports keys beyond the table, keys without room, and calls without an order: those of calls
  /// that have ended, once each.
  ///
  /// Throws      UsageError
  void check();

  std::size_t device_bytes() const noexcept { return maps_.size_bytes(); }
  /// Writes back for the last time, but nothing from a cache whose rows can't be trusted.
  void finish();
  void give_up() noexcept { finished_ = true; }

private:
  bool begin(CUstream stream);
  bool is_whole() const noexcept;
  void launch(const RowCacheKeys& keys, CUstream stream);
  void fetch(KernelRowCache cache, std::uint64_t num_sorted, CUstream stream);
  std::uint64_t told(std::size_t counter) const noexcept;
  unsigned blocks_for(std::uint64_t num_lanes, unsigned lanes) const noexcept;
  void await_device() const;

  Context context_;
  Kernels kernels_;
  RowCacheOptions options_;
  HostRegistration host_;
  PinnedBuffer report_;
  DeviceBuffer maps_;
  KernelRowCache cache_;
  CUdeviceptr sorting_ = 0;  ///< bins, and behind them sorted jobs, [num_slots]; 0: none are sorted
  Event last_;               ///< the last call that wasn't captured
  Kernel ensure_, count_, place_, fetch_, update_, flush_;
  std::mutex mutex_;
  std::uint64_t told_full_ = 0, told_beyond_ = 0;
  bool broken_ = false;  ///< a call failed halfway
  bool finished_ = false;
};

}  // namespace isthmus
