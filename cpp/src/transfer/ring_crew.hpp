// The threads, slots and queues of a staging ring, and one copy at a time with them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "transfer/memory_backing.hpp"
#include "transfer/ring_worker.hpp"
#include "transfer/staging_ring.hpp"
#include "window/copy_cpus.hpp"

namespace isthmus::transfer {

/// Lane 0 is the caller's; lane i belongs to worker i - 1. Both are made when a copy first needs
/// them.
struct StagingRing::Crew {
public:
  Crew(const Context& context, const RingSettings& settings);

  /// Throws      UsageError in a forked child.
  void require_own_process() const;
  bool in_own_process() const noexcept;

  /// Threads that a copy of so many bytes is worth.
  ///
  /// fresh       into memory that has no pages yet
  int threads_for(std::size_t size_bytes, bool fresh = false) const noexcept;
  ChunkLimits chunk_limits(std::size_t grain_bytes, bool fresh = false) const noexcept;
  /// What a piece has at least if a copy's pieces shall all have a slot at once, if they can.
  std::size_t bytes_per_slot(std::size_t size_bytes, int num_threads) const noexcept;
  /// Copies `job`, after what is in `stream` now; returns when all its threads have done their
  /// part. With !job.completes `stream` waits for the rest.
  void copy(StagingJob& job, int num_threads, CUstream stream);
  void trim();

  const Context context;
  const RingSettings settings;
  const MemoryBacking backing;
  const int most_threads;
  const int most_fresh_threads;
  std::atomic<std::size_t> pinned_bytes{0};

private:
  Crew(const Context& context, const RingSettings& settings, window::CopyCpus cpus);
  int hire(int num_threads);
  void add_queues();
  void add_lanes(std::size_t num_lanes);
  void begin(const Event* event) noexcept;
  const Event* begin_of(CUstream stream);
  bool is_foreign_context() const;
  void post(StagingJob& job, std::size_t num_helpers) noexcept;
  void work_together(StagingJob& job, std::size_t num_threads) noexcept;
  void leave_under_way(StagingJob& job, std::size_t num_threads, CUstream stream);
  void drop_unusable_lanes() noexcept;

  const std::uint64_t process_;
  const std::vector<int> cpus_;
  std::mutex busy_;
  std::unique_ptr<Event> begin_;
  std::vector<std::shared_ptr<CrossingQueue>> queues_;
  std::vector<std::unique_ptr<StagingLane>> lanes_;
  std::vector<std::unique_ptr<RingWorker>> workers_;  // after the lanes, which they use
};

}  // namespace isthmus::transfer
