// The threads, slots and queues of a staging ring; one copy at a time uses them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "host/cpu/spinning_worker.hpp"
#include "transfer/pinned/memory_backing.hpp"
#include "transfer/staging/host_copy.hpp"
#include "transfer/staging/staging_ring.hpp"
#include "transfer/staging/staging_slots.hpp"
#include "window/copies/copy_cpus.hpp"

namespace isthmus::transfer {

struct RingPart;
struct SharedCopy;
using RingWorker = host::SpinningWorker<RingPart>;

/// What one worker does for a copy: it wakes others, then takes part.
struct RingPart {
  StagingSlots* slots = nullptr;
  std::shared_ptr<SharedCopy> copy;
  std::uint32_t first_woken = 0;  ///< of the copy's helpers
  std::uint32_t end_woken = 0;

  void operator()() const noexcept;
};

/// A copy and the workers that take part in it. The caller doesn't wait for those that are late when
/// the job is done: the last of them to let go frees it.
struct SharedCopy {
  SharedCopy(PiecePlan plan, const StagedRanges& ranges) : job(std::move(plan), ranges) {}

  StagingJob job;
  std::vector<RingWorker*> helpers;
};

/// Slots and threads are made when a copy first needs them.
struct StagingRing::WorkerPool {
public:
  WorkerPool(const Context& context, const RingSettings& settings);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Throws      UsageError in a forked child.
  void require_own_process() const;
  bool in_own_process() const noexcept;

  /// How many threads a copy of this size uses.
  int upload_threads(std::size_t size_bytes) const noexcept;
  /// fresh       the target has no pages yet
  int download_threads(std::size_t size_bytes, bool fresh) const noexcept;
  /// The most threads that any copy uses.
  int num_threads() const noexcept;
  void use_threads(const RingThreads& threads) noexcept;
  /// How an upload fills its slots.
  SlotFilling upload_filling(std::size_t size_bytes, int num_threads) const noexcept;
  /// The longest piece of an upload that completes, and how many slots it takes at most. The caller
  /// holds the turn.
  struct UploadSlots {
    std::size_t piece_bytes;
    std::size_t num_slots;
  };
  UploadSlots upload_slots(std::size_t size_bytes) const noexcept;
  /// How a copy is cut into pieces.
  PlanLimits upload_limits(std::size_t size_bytes, std::size_t longest_bytes) const noexcept;
  PlanLimits download_limits(std::size_t size_bytes, std::size_t grain_bytes) const noexcept;
  /// The device's end of one range.
  struct OneDevice {
    CUdeviceptr begin = 0;                   ///< 0 with a crossing
    const SlotCrossing* crossing = nullptr;  ///< null: the driver's copies move slots
  };
  /// Copies of one range; see StagingRing::upload() and download().
  void upload_one(const OneDevice& target, const std::byte* source, std::size_t size_bytes,
                  CUstream stream, UploadEnd end);
  void download_one(std::byte* target, const OneDevice& source, std::size_t size_bytes,
                    CUstream stream);
  /// Uploads ranges whose sources are set. The caller holds the turn.
  ///
  /// address     of the job's byte 0 on the device
  void upload(const StagedRanges& ranges, std::size_t address, int num_threads, CUstream stream,
              UploadEnd end);
  /// Downloads ranges whose targets are set. The caller holds the turn.
  ///
  /// address     of the job's byte 0 in the host's memory
  /// fresh       the targets have no pages yet
  void download(const StagedRanges& ranges, std::size_t address, std::size_t grain_bytes,
                bool fresh, CUstream stream);
  /// How much a SlotFiller is asked for at a time.
  std::size_t filler_bytes() const noexcept;
  /// Waits for other copies, and wakes the first workers: waking takes longer than preparing this
  /// copy.
  std::unique_lock<std::mutex> take_turn(int num_threads);
  /// Copies a job after what is in `stream` now, and returns when it is done. If the job doesn't
  /// complete, `stream` waits for the rest. The caller holds the turn.
  ///
  /// piece_bytes  the size that each slot must hold
  void copy(const std::shared_ptr<SharedCopy>& shared, int num_threads, std::size_t piece_bytes,
            CUstream stream);
  void trim();
  int threads_at_most(std::size_t size_bytes, int most) const noexcept;

  const Context context;
  const RingSettings settings;
  const MemoryBacking backing;
  const int possible_threads;   ///< the number of available cores
  const int max_threads;        ///< for a copy, until use_threads() sets what was measured
  const int max_fresh_threads;  ///< for a download to fresh memory; more if more were measured
  std::atomic<std::size_t> pinned_bytes{0};

private:
  using Clock = std::chrono::steady_clock;

  WorkerPool(const Context& context, const RingSettings& settings, window::CopyCpus cpus);
  int threads_for(std::size_t size_bytes, std::size_t min_parts, int most) const noexcept;
  std::size_t piece_bytes(std::size_t size_bytes, int num_pieces, std::size_t most) const noexcept;
  bool is_long(std::size_t size_bytes) const noexcept {
    return size_bytes >= settings.min_long_bytes;
  }
  /// Threads of an upload of 64 MiB or more sleep soon after they are done, long before it ends; and
  /// when they wait for a free slot, except those of a SlotFiller, which weren't measured. If others
  /// follow each other, threads that are done wait awake for the copy's end and for the next copy.
  /// Source: benchmarks/rhythms/README.md.
  bool sleeps_after(std::size_t upload_bytes) const noexcept {
    return upload_bytes >= 2 * settings.min_long_bytes;
  }
  int start_workers(int num_threads);
  void make_slots();
  const Event* begin_of(CUstream stream);
  void choose_helpers(SharedCopy& shared, std::size_t num_helpers) const;
  void post(const std::shared_ptr<SharedCopy>& shared) noexcept;
  void work_together(const std::shared_ptr<SharedCopy>& shared) noexcept;
  void await_workers() const noexcept;
  void drop_unusable_slots() noexcept;

  std::atomic<int> max_upload_threads_;
  std::atomic<int> max_download_threads_;
  const std::uint64_t process_;
  const std::vector<int> cpus_;
  const std::chrono::microseconds spin_time_;
  std::mutex busy_;
  std::unique_ptr<Event> begin_;
  std::unique_ptr<StagingSlots> slots_;
  /// A worker whose part ends before the copy does stays awake for the next copy, if this one followed
  /// another. Whether it found workers awake tells nothing: those of the former copy may have been done
  /// long before it ended.
  std::atomic<bool> copying_{false};
  Clock::time_point ended_;                           ///< of the last copy
  bool follows_ = false;                              ///< the copy whose turn it is follows another
  std::vector<std::unique_ptr<RingWorker>> workers_;  // must end before the slots that they use
};

}  // namespace isthmus::transfer
