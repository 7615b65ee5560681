#include "transfer/staging/worker_pool.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <ranges>
#include <system_error>
#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "driver/forks.hpp"
#include "host/cpu/topology.hpp"
#include "transfer/request/stream_order.hpp"
#include "window/copies/copy_cpus.hpp"

namespace isthmus::transfer {
namespace {

// Demoting slots needs more threads than RingThreads::kMaxUseful: 64 MiB reach 0.80 of the link's
// speed with 10, 0.85 with 12, 0.91 with 15. Zeroing new pages does, too: 33 GB/s rather than 29
// with 12. Source: benchmarks/transfer/h100/ring_stores.json; tag explorations,
// benchmarks/transfer.
constexpr int kMaxBusyThreads = 15;
// A thread is woken for at least so many parts: fewer take less time than waking it.
constexpr std::size_t kMinParts = 2;
// Each wake-up is a system call. More of them would delay the caller's first piece by more time
// than they save.
constexpr std::size_t kMaxWokenByCaller = 3;

std::optional<int> node_of(const Context& context) {
  try {
    return host::pci_numa_node(context.device().pci_address);
  } catch (const UsageError&) {
    return std::nullopt;  // an address of no PCI device
  }
}

/// One core is left to the rest of the machine, above all to the driver's own threads: an H200's
/// uploads reached 0.94 of the link with 14 threads on 16 cores, and 0.89 with 16. If there are few
/// cores, all are used.
int possible_threads_of(const RingSettings& settings, int num_helpers) {
  if (settings.beyond_cores) return std::numeric_limits<int>::max();
  return num_helpers < 7 ? num_helpers + 1 : num_helpers;
}

int threads_of(const RingSettings& settings, int max_threads, int possible_threads) {
  return std::min(settings.num_threads > 0 ? settings.num_threads : max_threads, possible_threads);
}

int max_upload_threads(const RingSettings& settings, int possible_threads) {
  return threads_of(settings, can_demote() ? kMaxBusyThreads : RingThreads::kMaxUseful,
                    possible_threads);
}

RingSettings checked(const RingSettings& settings) {
  const bool valid = settings.num_threads >= 0 && settings.num_slots > 0 &&
                     settings.first_bytes > 0 && settings.first_bytes <= settings.slot_bytes &&
                     settings.min_part_bytes > 0 && settings.filler_bytes > 0 &&
                     settings.min_part_bytes <= settings.max_part_bytes &&
                     settings.download_pieces > 0;
  if (!valid) throw UsageError("a staging ring needs slots, and pieces and parts that fit in them");
  return settings;
}

}  // namespace

void RingPart::operator()() const noexcept {
  for (std::uint32_t i = first_woken; i < end_woken; ++i) copy->helpers[i]->wake();
  slots->work(copy->job);
}

StagingRing::WorkerPool::WorkerPool(const Context& the_context, const RingSettings& the_settings)
    : WorkerPool(the_context, checked(the_settings),
                 window::cpus_for_copies(node_of(the_context))) {}

StagingRing::WorkerPool::WorkerPool(const Context& the_context, const RingSettings& the_settings,
                                    window::CopyCpus cpus)
    : context(the_context),
      settings(the_settings),
      possible_threads(possible_threads_of(the_settings, cpus.max_helpers)),
      max_threads(threads_of(the_settings, RingThreads::kMaxUseful, possible_threads)),
      max_fresh_threads(threads_of(the_settings, kMaxBusyThreads, possible_threads)),
      max_upload_threads_(max_upload_threads(the_settings, possible_threads)),
      max_download_threads_(max_threads),
      process_(process_generation()),
      cpus_(std::move(cpus.cpus)),
      spin_time_(window::spin_time()) {
  watch_forks();
}

/// A late worker may still wake another one.
StagingRing::WorkerPool::~WorkerPool() { await_workers(); }

bool StagingRing::WorkerPool::in_own_process() const noexcept {
  return process_ == process_generation();
}

void StagingRing::WorkerPool::require_own_process() const {
  isthmus::require_own_process(process_, "this staging ring");
}

int StagingRing::WorkerPool::threads_for(std::size_t size_bytes, std::size_t min_parts,
                                         int most) const noexcept {
  const std::size_t num_shares = size_bytes / (min_parts * settings.min_part_bytes);
  return static_cast<int>(std::clamp<std::size_t>(num_shares, 1, static_cast<std::size_t>(most)));
}

/// How many threads a copy of this size has at most, if `most` take long ones.
int StagingRing::WorkerPool::threads_at_most(std::size_t size_bytes, int most) const noexcept {
  if (settings.num_threads > 0 || is_long(size_bytes)) return most;
  // Copies that aren't demoted have few threads; more would mostly burn CPU time while they wait for
  // the link. 4 MiB by four threads take 0.98 (down) and 1.04 (up) of the time that six take, for 0.64
  // and 0.69 of the CPU time, 16 MiB by five 1.06 and 1.02, for 0.88 and 0.85. Source:
  // benchmarks/rhythms/h100/threads_short.json.
  return std::min(most, size_bytes < std::size_t{8} << 20U ? 4 : 5);
}

int StagingRing::WorkerPool::upload_threads(std::size_t size_bytes) const noexcept {
  const int most = max_upload_threads_.load(std::memory_order_relaxed);
  return threads_for(size_bytes, kMinParts, threads_at_most(size_bytes, most));
}

int StagingRing::WorkerPool::download_threads(std::size_t size_bytes, bool fresh) const noexcept {
  const int most = max_download_threads_.load(std::memory_order_relaxed);
  if (fresh) return threads_for(size_bytes, kMinParts, std::max(most, max_fresh_threads));
  // Of a download, whose threads wait for the link most of the time: 1 MiB takes 87 us by two threads,
  // and 84 by three, for 1.5 times the CPU time. Source:
  // benchmarks/rhythms/h100/threads_short.json.
  return threads_for(size_bytes, 8, threads_at_most(size_bytes, most));
}

int StagingRing::WorkerPool::num_threads() const noexcept {
  return std::max({max_upload_threads_.load(std::memory_order_relaxed),
                   max_download_threads_.load(std::memory_order_relaxed), max_fresh_threads});
}

void StagingRing::WorkerPool::use_threads(const RingThreads& threads) noexcept {
  // A ring that was made with a number of threads has no more.
  const int most = settings.num_threads > 0 ? std::min(settings.num_threads, possible_threads)
                                            : possible_threads;
  const auto within = [&](int wanted, int otherwise) {
    return wanted > 0 ? std::min(wanted, most) : otherwise;
  };
  max_upload_threads_.store(within(threads.upload, max_upload_threads(settings, possible_threads)),
                            std::memory_order_relaxed);
  max_download_threads_.store(within(threads.download, max_threads), std::memory_order_relaxed);
}

std::unique_lock<std::mutex> StagingRing::WorkerPool::take_turn(int num_threads) {
  require_own_process();
  std::unique_lock turn(busy_);
  follows_ = Clock::now() - ended_ <= spin_time_;
  const auto num_helpers = std::min(static_cast<std::size_t>(num_threads) - 1, workers_.size());
  const std::size_t num_first = std::min(num_helpers, kMaxWokenByCaller);
  for (std::size_t i = 0; i < num_first; ++i) workers_[i]->wake();
  return turn;
}

void StagingRing::WorkerPool::copy(const std::shared_ptr<SharedCopy>& shared, int num_threads,
                                   std::size_t piece_bytes, CUstream stream) {
  StagingJob& job = shared->job;
  const ScopedRelaxedCapture relaxed(context.driver());
  const bool foreign = context.is_foreign_current();
  if (foreign) {
    // An event of one context can't mark a place in a stream of another.
    wait_for_work(context.driver(), stream);
    job.completes = true;
  }
  const CurrentContext current(context);
  const int num_started = start_workers(num_threads);
  job.moments = settings.moments;
  if (!slots_->fits(piece_bytes)) await_workers();
  slots_->begin(job, piece_bytes, foreign ? nullptr : begin_of(stream));
  choose_helpers(*shared, static_cast<std::size_t>(num_started) - 1);
  work_together(shared);
  if (!job.completes) slots_->leave_under_way(job, stream);
  drop_unusable_slots();
  job.rethrow();
}

/// The event that a copy begins after, or null if it may begin at once. The legacy default stream
/// isn't asked whether it is idle: it may be idle while streams that it waits for are not.
const Event* StagingRing::WorkerPool::begin_of(CUstream stream) {
  const Driver& driver = context.driver();
  if (!is_legacy(stream)) {
    const CUresult state = driver.raw(symbol::stream_query)(stream);
    if (state == CUDA_SUCCESS) return nullptr;
    if (state != CUDA_ERROR_NOT_READY) driver.check(state, symbol::stream_query.name);
  }
  if (begin_ == nullptr) begin_ = std::make_unique<Event>(context, Event::Timing::disabled);
  begin_->record(stream);
  return begin_.get();
}

/// Makes the slots and starts the missing threads. If the system starts no more threads, the copy
/// uses fewer. Returns how many take part, including the caller.
int StagingRing::WorkerPool::start_workers(int num_threads) {
  drop_unusable_slots();
  if (slots_ == nullptr) make_slots();
  const auto wanted = static_cast<std::size_t>(num_threads);
  try {
    while (workers_.size() + 1 < wanted)
      workers_.push_back(
          std::make_unique<RingWorker>("isthmus-ring", cpus_, spin_time_, &copying_));
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): go on with fewer
  }
  return static_cast<int>(std::min(wanted, workers_.size() + 1));
}

void StagingRing::WorkerPool::make_slots() {
  const CrossingMarks marks =
      settings.marks_by_events ? CrossingMarks::events : best_marks(context);
  slots_ = std::make_unique<StagingSlots>(context, marks, settings.num_slots, settings.slot_bytes);
  pinned_bytes = StagingSlots::memory_bytes(settings.num_slots, settings.slot_bytes);
}

/// Those that are late with a former copy aren't waited for.
void StagingRing::WorkerPool::choose_helpers(SharedCopy& shared, std::size_t num_helpers) const {
  shared.helpers.reserve(num_helpers);
  for (const auto& worker : workers_) {
    if (shared.helpers.size() == num_helpers) return;
    if (worker->idle()) shared.helpers.push_back(worker.get());
  }
}

/// The caller wakes a few workers, and these wake the others.
void StagingRing::WorkerPool::post(const std::shared_ptr<SharedCopy>& shared) noexcept {
  const std::vector<RingWorker*>& all = shared->helpers;
  const std::size_t num_first = std::min(all.size(), kMaxWokenByCaller);
  const std::size_t num_others = all.size() - num_first;
  for (std::size_t i = 0; i < all.size(); ++i) {
    RingPart part{slots_.get(), shared};
    if (i < num_first) {
      part.first_woken = static_cast<std::uint32_t>(num_first + num_others * i / num_first);
      part.end_woken = static_cast<std::uint32_t>(num_first + num_others * (i + 1) / num_first);
    }
    all[i]->post(part);
  }
  for (std::size_t i = 0; i < num_first; ++i) all[i]->wake();
}

void StagingRing::WorkerPool::work_together(const std::shared_ptr<SharedCopy>& shared) noexcept {
  StagingJob& job = shared->job;
  const bool sleep = !job.downloads() && sleeps_after(job.ranges().size_bytes());
  copying_.store(follows_ && !sleep, std::memory_order_relaxed);
  // The others wake while the first piece crosses.
  slots_->fetch_first(job);
  post(shared);
  slots_->put_in_order(job);
  slots_->fetch_more(job);
  slots_->work(job);
  for (RingWorker* const worker : shared->helpers | std::views::reverse) {
    if (!worker->take_back()) host::wait_until([&] { return job.done() || worker->idle(); });
  }
  job.close();
  slots_->finish(job);
  copying_.store(false, std::memory_order_relaxed);
  ended_ = Clock::now();
}

/// Waits for those that are late with a former copy.
void StagingRing::WorkerPool::await_workers() const noexcept {
  for (const auto& worker : workers_) worker->wait();
}

void StagingRing::WorkerPool::drop_unusable_slots() noexcept {
  if (slots_ == nullptr || slots_->usable()) return;
  await_workers();
  slots_.reset();
  pinned_bytes = 0;
}

void StagingRing::WorkerPool::trim() {
  require_own_process();
  const std::lock_guard lock(busy_);
  const ScopedRelaxedCapture relaxed(context.driver());
  await_workers();
  workers_.clear();
  slots_.reset();
  begin_.reset();
  pinned_bytes = 0;
}

}  // namespace isthmus::transfer
