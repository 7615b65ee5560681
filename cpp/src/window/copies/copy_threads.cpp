#include "window/copies/copy_threads.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <mutex>
#include <vector>

#include "driver/forks.hpp"
#include "host/cpu/spinning_worker.hpp"
#include "window/copies/copy_cpus.hpp"
#include "window/copies/copy_job.hpp"

namespace isthmus::window {
namespace {

using Clock = std::chrono::steady_clock;
// A worker that has begun finishes soon, so waiting for it never sleeps.
constexpr host::SpinLimits kWaitForWorker{4096, std::chrono::hours{24}};

// All figures: benchmarks/windows, Sapphire Rapids and H100.
constexpr std::size_t kMinSharedWriteBytes = std::size_t{32} << 10U;
constexpr int kMaxWriters = 2;              // more threads don't write faster
constexpr std::size_t kLinesInFlight = 16;  // lines that a core reads in one round trip

// Chunks are small because threads differ in speed: two on one core share its line buffers. A read
// of 1 KiB fills them once, so smaller chunks would cost bandwidth. Writes are too fast for small
// chunks: below 128 KiB each of the two threads has one chunk (with smaller chunks 64 KiB took 2.9
// us instead of 2.3).
constexpr std::size_t kChunksPerThread = 4;
constexpr std::size_t kMinReadChunkBytes = std::size_t{1} << 10U;
constexpr std::size_t kMinWriteChunkBytes = std::size_t{64} << 10U;

// A copy of some 30 us is worth the one or two microseconds that each wake-up costs. The caller wakes
// two workers, and these wake the others while there is work: 15 took the caller 30 us.
constexpr std::size_t kMinWakingReadBytes = std::size_t{32} << 10U;
constexpr std::size_t kMinWakingWriteBytes = std::size_t{512} << 10U;
// A smaller copy wakes a worker for later copies, if copies follow each other this closely.
constexpr std::chrono::milliseconds kBurst{1};

std::size_t divide_up(std::size_t number, std::size_t divisor) {
  return (number + divisor - 1) / divisor;
}

CopyJob whole_copy(const StreamingCopy& way, void* target, const void* source,
                   std::size_t size_bytes, bool to_mapping) {
  CopyJob job;
  job.copy = &way;
  job.target = static_cast<std::byte*>(target);
  job.source = static_cast<const std::byte*>(source);
  job.size_bytes = size_bytes;
  job.to_mapping = to_mapping;
  return job;
}

std::size_t chunk_bytes(const CopyJob& job, std::size_t num_threads) {
  const std::size_t share_lines = divide_up(job.num_lines(), num_threads);
  const std::size_t min_lines =
      (job.to_mapping ? kMinWriteChunkBytes : kMinReadChunkBytes) / kLineBytes;
  if (share_lines <= min_lines) return share_lines * kLineBytes;
  return std::max(min_lines, divide_up(share_lines, kChunksPerThread)) * kLineBytes;
}

}  // namespace

struct CopyThreads::Pool {
  std::mutex busy;
  const std::uint64_t process = process_generation();
  std::vector<std::unique_ptr<CopyWorker>> workers;
  std::atomic<int> num_started{0};
  std::atomic<const CopyWorker*> first{nullptr};
  const std::chrono::microseconds spins_for = spin_time();
  std::size_t max_helpers = CopyTeam::kMaxHelpers;
  Clock::time_point met_sleepers;
  CopyTeam team;

  void start(std::size_t num_helpers);
  void copy(CopyJob job, std::size_t num_helpers);

private:
  void choose_helpers(const CopyJob& job, std::size_t num_helpers);
  void copy_together(CopyJob& job);
  void post(CopyJob& job);
  bool follows_closely();
};

/// Starts threads until there are `num_helpers`, or as many as are useful.
void CopyThreads::Pool::start(std::size_t num_helpers) {
  if (workers.size() >= std::min(num_helpers, max_helpers)) return;
  try {
    const CopyCpus cpus = cpus_for_copies();
    max_helpers = std::min(max_helpers, static_cast<std::size_t>(cpus.max_helpers));
    while (workers.size() < std::min(num_helpers, max_helpers)) {
      workers.push_back(std::make_unique<CopyWorker>("isthmus-copy", cpus.cpus, spins_for));
      first.store(workers.front().get(), std::memory_order_release);
      num_started.store(static_cast<int>(workers.size()), std::memory_order_relaxed);
    }
  } catch (const std::exception&) {
    max_helpers = workers.size();  // No more can be started: copies use these.
  }
}

/// The workers for a job: those that are awake, and behind them the sleeping ones if the job is long
/// enough for them.
void CopyThreads::Pool::choose_helpers(const CopyJob& job, std::size_t num_helpers) {
  const std::size_t least = job.to_mapping ? kMinWakingWriteBytes : kMinWakingReadBytes;
  const bool wakes = job.size_bytes >= least;
  std::array<CopyWorker*, CopyTeam::kMaxHelpers> sleepers;
  std::size_t num_sleepers = 0;
  team.num_awake = 0;
  for (std::size_t i = 0; i < std::min(num_helpers, workers.size()); ++i) {
    CopyWorker& worker = *workers[i];
    if (worker.asleep())
      sleepers[num_sleepers++] = &worker;
    else
      team.helpers[team.num_awake++] = &worker;
    // The first worker takes part in every copy. If it sleeps, the others do: their cache lines
    // needn't be fetched.
    if (i == 0 && num_sleepers > 0 && !wakes) break;
  }
  team.num_helpers = team.num_awake;
  if (wakes) {
    for (std::size_t i = 0; i < num_sleepers; ++i) team.helpers[team.num_helpers++] = sleepers[i];
  } else if (num_sleepers > 0 && follows_closely()) {
    for (std::size_t i = 0; i < std::min(num_sleepers, CopyTeam::kFanOut); ++i) sleepers[i]->wake();
  }
}

/// True if another short copy met sleepers a moment ago.
bool CopyThreads::Pool::follows_closely() {
  const auto now = Clock::now();
  const bool closely = now - met_sleepers < kBurst;
  met_sleepers = now;
  return closely;
}

void CopyThreads::Pool::copy(CopyJob job, std::size_t num_helpers) {
  start(num_helpers);
  choose_helpers(job, num_helpers);
  if (team.num_helpers == 0) return job.copy_alone();
  job.chunk_bytes = chunk_bytes(job, team.num_helpers + 1);
  // Shares are rounded up, so the last helpers may have nothing to do.
  team.num_helpers = std::min(team.num_helpers, job.num_chunks() - 1);
  team.num_awake = std::min(team.num_awake, team.num_helpers);
  job.team = &team;
  job.num_owned = static_cast<std::uint16_t>(team.num_awake + 1);
  copy_together(job);
}

void CopyThreads::Pool::copy_together(CopyJob& job) {
  team.next_chunk.store(job.num_owned, std::memory_order_relaxed);
  post(job);
  team.wake_next(0);
  job.copy_share();
  std::array<bool, CopyTeam::kMaxHelpers> helps{};
  for (std::size_t i = team.num_helpers; i-- > 0;) {
    helps[i] = !team.helpers[i]->take_back();
    if (!helps[i] && i < team.num_awake) job.copy_chunk(i + 1);
  }
  if (job.to_mapping) store_fence();
  for (std::size_t i = 0; i < team.num_helpers; ++i) {
    if (helps[i]) team.helpers[i]->wait(kWaitForWorker);
  }
}

void CopyThreads::Pool::post(CopyJob& job) {
  for (std::size_t i = 0; i < team.num_helpers; ++i) {
    job.number = static_cast<std::uint16_t>(i + 1);
    team.helpers[i]->post(job);
  }
  job.number = 0;
}

CopyThreads::CopyThreads() {
  watch_forks();
  pool_ = std::make_unique<Pool>();
}

CopyThreads::~CopyThreads() {
  // In a forked child the threads don't exist, and the lock may be held for ever.
  if (pool_->process == process_generation()) return;
  [[maybe_unused]] const Pool* const forgotten = pool_.release();
}

void CopyThreads::start(int num_threads) {
  if (num_threads < 2 || pool_->process != process_generation()) return;
  const std::lock_guard lock(pool_->busy);
  pool_->start(static_cast<std::size_t>(num_threads) - 1);
}

bool CopyThreads::asleep() const noexcept {
  const CopyWorker* const first = pool_->first.load(std::memory_order_acquire);
  return first == nullptr || first->asleep();
}

int CopyThreads::num_started() const noexcept {
  return pool_->num_started.load(std::memory_order_relaxed);
}

void CopyThreads::copy(const CopyJob& job, std::size_t num_threads) {
  if (pool_->process != process_generation()) return job.copy_alone();
  const std::unique_lock lock(pool_->busy, std::try_to_lock);
  if (!lock.owns_lock()) return job.copy_alone();
  pool_->copy(job, num_threads - 1);
}

void CopyThreads::write(const StreamingCopy& way, void* target, const void* source,
                        std::size_t size_bytes, int num_threads) {
  const CopyJob job = whole_copy(way, target, source, size_bytes, true);
  if (num_threads < 2 || size_bytes < kMinSharedWriteBytes) return job.copy_alone();
  copy(job, kMaxWriters);
}

void CopyThreads::read(const StreamingCopy& way, void* target, const void* source,
                       std::size_t size_bytes, int num_threads) {
  // Helpers read for this thread, which must see its own posts.
  store_fence();
  const CopyJob job = whole_copy(way, target, source, size_bytes, false);
  if (num_threads < 2 || job.num_lines() <= kLinesInFlight) return job.copy_alone();
  copy(job,
       std::min(static_cast<std::size_t>(num_threads), divide_up(job.num_lines(), kLinesInFlight)));
}

}  // namespace isthmus::window
