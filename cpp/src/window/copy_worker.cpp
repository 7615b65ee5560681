#include "window/copy_worker.hpp"

#include <chrono>

#include <pthread.h>

#include "host/affinity.hpp"
#include "host/signal_block.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace isthmus::window {
namespace {

using Clock = std::chrono::steady_clock;

// Waking a thread costs tens of microseconds; who copies again sooner finds it awake.
constexpr std::chrono::microseconds kSpinTime{50};
constexpr int kSpinsPerClockRead = 16;
constexpr int kSpinsBeforeYield = 4096;

}  // namespace

void pause_briefly() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

CopyWorker::CopyWorker(std::atomic<std::size_t>& next_chunk, const std::vector<int>& cpus)
    : next_chunk_(next_chunk) {
  const host::ScopedSignalBlock block;
  thread_ = std::thread([this, cpus] { run(cpus); });
}

CopyWorker::~CopyWorker() {
  post(CopyJob{}, 0);
  wake();
  thread_.join();
}

void CopyWorker::wake() noexcept {
  // Sequentially consistent, as is the worker's check after it has said that it sleeps: one of the
  // two sees the other, so that the last post of all isn't slept through.
  if (asleep_.exchange(0) != 0) asleep_.notify_one();
}

void CopyWorker::post(const CopyJob& job, std::size_t chunk_index) noexcept {
  job_ = job;
  chunk_index_ = chunk_index;
  posted_.store(posted_.load(std::memory_order_relaxed) + 1);
}

bool CopyWorker::take_back() noexcept {
  const std::uint64_t done = 2 * posted_.load(std::memory_order_relaxed);
  std::uint64_t before = done - 2;
  // Look first: to change the line is to take it from a worker that is about to answer.
  if (answer_.load(std::memory_order_relaxed) != before) return false;
  return answer_.compare_exchange_strong(before, done, std::memory_order_acq_rel);
}

void CopyWorker::wait() const noexcept {
  const std::uint64_t done = 2 * posted_.load(std::memory_order_relaxed);
  for (int spin = 0; answer_.load(std::memory_order_acquire) != done; ++spin) {
    if (spin < kSpinsBeforeYield) {
      pause_briefly();
    } else {
      std::this_thread::yield();
    }
  }
}

void CopyWorker::run(const std::vector<int>& cpus) {
  pthread_setname_np(pthread_self(), "isthmus-copy");
  if (!cpus.empty()) host::allow_cpus(cpus);
  for (std::uint64_t post = 0;;) {
    post = wait_for_post(post);
    std::uint64_t before = 2 * post - 2;
    if (!answer_.compare_exchange_strong(before, 2 * post - 1, std::memory_order_acq_rel)) continue;
    if (job_.copy == nullptr) return;
    work();
    answer_.store(2 * post, std::memory_order_release);
  }
}

void CopyWorker::work() const {
  job_.copy_chunk(chunk_index_);
  job_.copy_rest(next_chunk_);
  if (job_.to_mapping) store_fence();
}

std::uint64_t CopyWorker::wait_for_post(std::uint64_t seen) noexcept {
  while (!posted_within_spin(seen)) {
    asleep_.store(1);
    if (posted_.load() == seen) asleep_.wait(1);
    asleep_.store(0);
  }
  return posted_.load(std::memory_order_acquire);
}

bool CopyWorker::posted_within_spin(std::uint64_t seen) noexcept {
  const auto end = Clock::now() + kSpinTime;
  do {
    for (int spin = 0; spin < kSpinsPerClockRead; ++spin) {
      if (posted_.load(std::memory_order_acquire) != seen) return true;
      pause_briefly();
    }
    // Keeps the answer's line in this core, so that claiming a chunk doesn't have to fetch it.
    num_spins_.store(num_spins_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  } while (Clock::now() < end);
  return false;
}

}  // namespace isthmus::window
