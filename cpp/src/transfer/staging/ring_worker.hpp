// One thread of a staging ring, and the cache lines through which it and the caller talk.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "transfer/staging/staging_slots.hpp"

namespace isthmus::transfer {

/// A thread that spins for a while after its last copy, then sleeps.
///
/// Posts are counted. Whoever moves `answer_` on from the post before has the say over this post:
/// the worker, which then takes part, or the caller, who so never waits for a thread that still
/// sleeps or was descheduled. All functions are the caller's, one thread at a time.
class RingWorker {
public:
  /// cpus        to run on; {}: where the caller may
  /// Throws      std::system_error if there is no thread to be had.
  explicit RingWorker(const std::vector<int>& cpus);
  /// Joins the thread.
  ~RingWorker();
  RingWorker(const RingWorker&) = delete;
  RingWorker& operator=(const RingWorker&) = delete;

  using Others = std::span<const std::unique_ptr<RingWorker>>;
  /// Offers a part in a job. Every post must be followed by take_back(), and if that fails by
  /// wait().
  ///
  /// others      have a post too, and are woken by this worker before it does its part
  void post(StagingSlots& slots, StagingJob& job, Others others) noexcept;
  /// Wakes the thread if it sleeps. From any thread.
  void wake() noexcept;
  /// Returns     true if the worker hasn't begun, and now won't.
  bool take_back() noexcept;
  /// Waits for a worker that has begun.
  void wait() const noexcept;

private:
  void announce() noexcept;
  void run(const std::vector<int>& cpus) noexcept;
  std::uint64_t wait_for_post(std::uint64_t seen) noexcept;
  bool posted_within_spin(std::uint64_t seen) const noexcept;

  // Written by the caller. No job asks the thread to end.
  alignas(128) std::atomic<std::uint64_t> posted_{0};
  StagingSlots* slots_ = nullptr;
  StagingJob* job_ = nullptr;
  Others others_;
  // Written by the worker; by the caller only when it takes a post back. Of post n: 2n - 2 before,
  // 2n - 1 begun, 2n done or taken back. Apart as in window/copy_worker.hpp, kApartBytes.
  alignas(128) std::atomic<std::uint64_t> answer_{0};
  // Rarely written.
  alignas(128) std::atomic<int> asleep_{0};
  std::thread thread_;
};

}  // namespace isthmus::transfer
