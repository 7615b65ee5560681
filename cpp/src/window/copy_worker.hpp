// One thread that helps with copies, and the cache lines through which it and the caller talk.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "window/copy_job.hpp"

namespace isthmus::window {

/// Of two lines, since the processor fetches them in pairs.
inline constexpr std::size_t kApartBytes = 2 * kLineBytes;

/// One pause of a spinning thread.
void pause_briefly() noexcept;

/// A thread that spins for a while after its last job, then sleeps.
///
/// Posts are counted. A job's first chunk belongs to whoever moves `answer_` on from the post
/// before: the worker, or the caller, who so never waits for a thread that sleeps or was
/// descheduled. All functions are the caller's, one thread at a time.
class CopyWorker {
public:
  /// next_chunk  of the chunks without an owner, shared by all workers of a job
  /// cpus        to run on; {}: where the caller may
  /// Throws      std::system_error if there is no thread to be had.
  CopyWorker(std::atomic<std::size_t>& next_chunk, const std::vector<int>& cpus);
  /// Joins the thread.
  ~CopyWorker();
  CopyWorker(const CopyWorker&) = delete;
  CopyWorker& operator=(const CopyWorker&) = delete;

  bool asleep() const noexcept { return asleep_.load(std::memory_order_relaxed) != 0; }
  void wake() noexcept;

  /// Offers a job, of which the chunk `chunk_index` is this worker's own. Every post must be
  /// followed by take_back(), and if that fails by wait().
  void post(const CopyJob& job, std::size_t chunk_index) noexcept;
  /// Returns     true if the worker hasn't begun, and now won't: its chunk is the caller's.
  bool take_back() noexcept;
  /// Waits for a worker that has begun.
  void wait() const noexcept;

private:
  void run(const std::vector<int>& cpus);
  std::uint64_t wait_for_post(std::uint64_t seen) noexcept;
  bool posted_within_spin(std::uint64_t seen) noexcept;
  void work() const;

  // Written by the caller.
  alignas(kApartBytes) std::atomic<std::uint64_t> posted_{0};
  CopyJob job_;
  std::size_t chunk_index_ = 0;
  // Written by the worker; by the caller only when it takes a chunk back. Of post n: 2n - 2 before,
  // 2n - 1 begun, 2n done or taken back.
  alignas(kApartBytes) std::atomic<std::uint64_t> answer_{0};
  std::atomic<std::uint32_t> num_spins_{0};
  // Rarely written.
  alignas(kApartBytes) std::atomic<int> asleep_{0};
  std::atomic<std::size_t>& next_chunk_;
  std::thread thread_;
};

}  // namespace isthmus::window
