#include "transfer/staging/ring_worker.hpp"

#include <chrono>

#include <pthread.h>

#include "host/affinity.hpp"
#include "host/signal_block.hpp"
#include "transfer/staging/patience.hpp"
#include "window/copy_worker.hpp"

namespace isthmus::transfer {
namespace {

using Clock = std::chrono::steady_clock;

// As in window/copy_worker.cpp: waking a thread costs tens of microseconds.
constexpr std::chrono::microseconds kSpinTime{50};
constexpr int kSpinsPerClockRead = 16;

}  // namespace

RingWorker::RingWorker(const std::vector<int>& cpus) {
  const host::ScopedSignalBlock block;
  thread_ = std::thread([this, cpus] { run(cpus); });
}

RingWorker::~RingWorker() {
  job_ = nullptr;
  announce();
  wake();
  thread_.join();
}

void RingWorker::post(StagingSlots& slots, StagingJob& job, Others others) noexcept {
  slots_ = &slots;
  job_ = &job;
  others_ = others;
  announce();
}

/// Sequentially consistent, as is the worker's check after it has said that it sleeps: either it
/// sees the post, or who calls wake() after this sees that it sleeps.
void RingWorker::announce() noexcept { posted_.store(posted_.load(std::memory_order_relaxed) + 1); }

void RingWorker::wake() noexcept {
  if (asleep_.load() != 0 && asleep_.exchange(0) != 0) asleep_.notify_one();
}

bool RingWorker::take_back() noexcept {
  const std::uint64_t done = 2 * posted_.load(std::memory_order_relaxed);
  std::uint64_t before = done - 2;
  return answer_.compare_exchange_strong(before, done, std::memory_order_acq_rel);
}

void RingWorker::wait() const noexcept {
  const std::uint64_t done = 2 * posted_.load(std::memory_order_relaxed);
  for (Patience patience; answer_.load(std::memory_order_acquire) != done;) patience.pause();
}

void RingWorker::run(const std::vector<int>& cpus) noexcept {
  pthread_setname_np(pthread_self(), "isthmus-ring");
  if (!cpus.empty()) host::allow_cpus(cpus);
  for (std::uint64_t post = 0;;) {
    post = wait_for_post(post);
    std::uint64_t before = 2 * post - 2;
    if (!answer_.compare_exchange_strong(before, 2 * post - 1, std::memory_order_acq_rel)) continue;
    if (job_ == nullptr) return;
    for (const auto& other : others_) other->wake();
    slots_->work(*job_);
    answer_.store(2 * post, std::memory_order_release);
  }
}

std::uint64_t RingWorker::wait_for_post(std::uint64_t seen) noexcept {
  while (!posted_within_spin(seen)) {
    asleep_.store(1);
    if (posted_.load() == seen) asleep_.wait(1);
    asleep_.store(0);
  }
  return posted_.load(std::memory_order_acquire);
}

bool RingWorker::posted_within_spin(std::uint64_t seen) const noexcept {
  const auto end = Clock::now() + kSpinTime;
  do {
    for (int spin = 0; spin < kSpinsPerClockRead; ++spin) {
      if (posted_.load(std::memory_order_acquire) != seen) return true;
      window::pause_briefly();
    }
  } while (Clock::now() < end);
  return false;
}

}  // namespace isthmus::transfer
