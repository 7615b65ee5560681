// A thread that takes one job at a time, and the cache lines that it shares with its caller.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "host/cpu/backoff.hpp"

namespace isthmus::host {

/// Two cache lines. The CPU fetches lines in pairs, so data of different threads is this far apart.
inline constexpr std::size_t kApartBytes = 128;

/// Starts a thread that takes no signals: the program's own threads handle those.
///
/// name        at most 15 characters; must stay valid until the thread has started
/// cpus        for the thread; if empty: the caller's
/// Throws      std::system_error if no thread can be started.
std::thread start_thread(const char* name, const std::vector<int>& cpus, std::function<void()> run);

/// How long a thread waits for more work before it sleeps. Waking one costs tens of microseconds: a
/// caller that posts again sooner finds it awake. Python's copies that follow each other do within
/// 20 us; with 50 us, copies every 100 us burn twice the CPU time. Source: benchmarks/rhythms.
inline constexpr std::chrono::microseconds kDefaultSpinTime{20};

/// A thread that spins for a while after its last job, then sleeps.
///
/// Posts are counted. A post belongs to whoever moves `answer_` on from the post before: either the
/// worker, which then runs the job, or the caller, which takes the job back. So a caller never
/// waits for a worker that sleeps, or that was descheduled before it began.
///
/// Only one thread at a time may call the functions; wake() may be called by any thread. A forked
/// child has no such thread: the object must not be used or destroyed there.
///
/// Job     a copyable function object that doesn't throw. The hand-off is quickest if the job and
///         the count of posts fit in one cache line.
template <typename Job>
class SpinningWorker {
public:
  /// As start_thread().
  ///
  /// spin_time   after a job, and before the first; 0: some hundred nanoseconds
  /// stay_awake  while it is true the spin time doesn't pass; null: it always does
  SpinningWorker(const char* name, const std::vector<int>& cpus,
                 std::chrono::microseconds spin_time = kDefaultSpinTime,
                 const std::atomic<bool>* stay_awake = nullptr)
      : spin_time_(spin_time),
        stay_awake_(stay_awake),
        thread_(start_thread(name, cpus, [this] { run(); })) {}
  /// Waits for the last job, and ends the thread.
  ~SpinningWorker() {
    posted_.store(kEnd);
    wake();
    thread_.join();
  }
  SpinningWorker(const SpinningWorker&) = delete;
  SpinningWorker& operator=(const SpinningWorker&) = delete;

  bool asleep() const noexcept { return asleep_.load(std::memory_order_relaxed) != 0; }

  /// Wakes the thread if it sleeps.
  void wake() noexcept {
    if (asleep_.load() != 0 && asleep_.exchange(0) != 0) asleep_.notify_one();
  }

  /// True if every job that was offered is done or was taken back: then writes of the worker are
  /// visible, too.
  bool idle() const noexcept {
    return answer_.load(std::memory_order_acquire) == 2 * posted_.load(std::memory_order_relaxed);
  }

  /// Offers a job to an idle worker. Doesn't wake the thread: a caller that doesn't do so must
  /// take_back(). Its copy of the job stays until the next post.
  void post(const Job& job) noexcept {
    job_ = job;
    // Sequentially consistent, as is the worker's check after it has said that it sleeps. Either
    // the worker sees the post, or a wake() after the post sees that the worker sleeps.
    posted_.store(posted_.load(std::memory_order_relaxed) + 1);
  }

  /// Returns     true if the worker hasn't begun the job, and now won't.
  bool take_back() noexcept {
    const std::uint64_t done = 2 * posted_.load(std::memory_order_relaxed);
    std::uint64_t before = done - 2;
    // Load first: an exchange would take the line from a worker that is about to answer.
    if (answer_.load(std::memory_order_relaxed) != before) return false;
    return answer_.compare_exchange_strong(before, done, std::memory_order_acq_rel);
  }

  /// Waits until the worker has done the job.
  void wait(const SpinLimits& limits = {}) const noexcept {
    wait_until([&] { return idle(); }, limits);
  }

private:
  static constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  static constexpr int kSpinsPerClockRead = 16;

  void run() noexcept {
    for (std::uint64_t post = wait_for_post(0); post != kEnd; post = wait_for_post(post)) {
      std::uint64_t before = 2 * post - 2;
      if (!answer_.compare_exchange_strong(before, 2 * post - 1, std::memory_order_acq_rel))
        continue;
      job_();
      answer_.store(2 * post, std::memory_order_release);
    }
  }

  std::uint64_t wait_for_post(std::uint64_t seen) noexcept {
    while (!posted_within_spin(seen)) {
      asleep_.store(1);
      if (posted_.load() == seen) asleep_.wait(1);
      asleep_.store(0);
    }
    return posted_.load(std::memory_order_acquire);
  }

  bool posted_within_spin(std::uint64_t seen) noexcept {
    auto end = std::chrono::steady_clock::now() + spin_time_;
    bool spins_on = true;
    while (spins_on) {
      for (int spin = 0; spin < kSpinsPerClockRead; ++spin) {
        if (posted_.load(std::memory_order_acquire) != seen) return true;
        pause_briefly();
      }
      // Keeps the answer's line in this core, so that beginning a job doesn't have to fetch it.
      num_spins_.store(num_spins_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      const auto now = std::chrono::steady_clock::now();
      const bool held = stay_awake_ != nullptr && stay_awake_->load(std::memory_order_relaxed);
      if (held) {
        end = now + spin_time_;
        // What it is held for may be the work of a thread that waits for this core. The kernel
        // wouldn't run that one for milliseconds.
        std::this_thread::yield();
      }
      spins_on = held || now < end;
    }
    return false;
  }

  // Written by the caller.
  alignas(kApartBytes) std::atomic<std::uint64_t> posted_{0};
  Job job_{};
  // Written by the worker; by the caller only when it takes a post back. For post n the answer is
  // 2n - 2 before, 2n - 1 once the worker has begun, and 2n when the job is done or taken back.
  alignas(kApartBytes) std::atomic<std::uint64_t> answer_{0};
  std::atomic<std::uint32_t> num_spins_{0};
  // Rarely written. The thread is the last member: it starts when everything else exists.
  alignas(kApartBytes) std::atomic<int> asleep_{0};
  const std::chrono::microseconds spin_time_;
  const std::atomic<bool>* const stay_awake_;
  std::thread thread_;
};

}  // namespace isthmus::host
