#include "transfer/ring_crew.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "host/first_touch.hpp"
#include "host/topology.hpp"
#include "transfer/stream_order.hpp"
#include "window/forks.hpp"

namespace isthmus::transfer {
namespace {

// Past 10, an H100's link gains nothing. Source: benchmarks/transfer/README.md.
constexpr int kMostThreads = 10;
// Zeroing new pages takes more: 34 GB/s rather than 26. Source: as above.
constexpr int kMostFreshThreads = 12;
constexpr std::size_t kMostFreshBytes = host::kHugePageBytes;
// A system call each, which together would delay the caller's first piece by more than it takes.
constexpr std::size_t kMostWokenByCaller = 3;

std::optional<int> node_of(const Context& context) {
  try {
    return host::pci_numa_node(context.device().pci_address);
  } catch (const UsageError&) {
    return std::nullopt;  // an address of no PCI device
  }
}

int threads_of(const RingSettings& settings, int num_helpers, int most_threads) {
  const int wanted = settings.num_threads > 0 ? settings.num_threads : most_threads;
  return settings.beyond_cores ? wanted : std::min(wanted, num_helpers + 1);
}

RingSettings checked(const RingSettings& settings) {
  const bool valid = settings.num_threads >= 0 && settings.slots_per_thread > 0 &&
                     settings.num_streams > 0 && settings.first_chunk_bytes > 0 &&
                     settings.least_chunk_bytes > 0 &&
                     settings.least_chunk_bytes <= settings.chunk_bytes;
  if (!valid) throw UsageError("a staging ring needs slots, streams, and chunks of a byte or more");
  return settings;
}

/// The legacy default stream, by either of its names.
bool is_legacy(CUstream stream) { return stream == nullptr || stream == CU_STREAM_LEGACY; }

}  // namespace

StagingRing::Crew::Crew(const Context& the_context, const RingSettings& the_settings)
    : Crew(the_context, checked(the_settings), window::cpus_for_copies(node_of(the_context))) {}

StagingRing::Crew::Crew(const Context& the_context, const RingSettings& the_settings,
                        window::CopyCpus cpus)
    : context(the_context),
      settings(the_settings),
      most_threads(threads_of(the_settings, cpus.most_helpers, kMostThreads)),
      most_fresh_threads(threads_of(the_settings, cpus.most_helpers, kMostFreshThreads)),
      process_(window::process_generation()),
      cpus_(std::move(cpus.cpus)) {
  window::watch_forks();
}

bool StagingRing::Crew::in_own_process() const noexcept {
  return process_ == window::process_generation();
}

void StagingRing::Crew::require_own_process() const {
  if (in_own_process()) return;
  throw UsageError(
      "a staging ring can't be used in a forked child: its threads and its memory "
      "stayed with the parent");
}

int StagingRing::Crew::threads_for(std::size_t size_bytes, bool fresh) const noexcept {
  const std::size_t num_pieces = size_bytes / settings.least_chunk_bytes;
  const auto most = static_cast<std::size_t>(fresh ? most_fresh_threads : most_threads);
  return static_cast<int>(std::clamp<std::size_t>(num_pieces, 1, most));
}

ChunkLimits StagingRing::Crew::chunk_limits(std::size_t grain_bytes, bool fresh) const noexcept {
  const std::size_t grain = grain_bytes <= settings.chunk_bytes ? grain_bytes : 1;
  const std::size_t least = std::max(settings.least_chunk_bytes, grain);
  const std::size_t most =
      fresh ? std::min(settings.chunk_bytes, kMostFreshBytes) : settings.chunk_bytes;
  return {std::clamp(settings.first_chunk_bytes, grain, least), least, std::max(least, most),
          grain};
}

std::size_t StagingRing::Crew::bytes_per_slot(std::size_t size_bytes,
                                              int num_threads) const noexcept {
  const auto num_slots =
      static_cast<std::size_t>(num_threads) * static_cast<std::size_t>(settings.slots_per_thread);
  // One slot less, since the ends of pieces are rounded down to whole pages.
  const std::size_t share = size_bytes / std::max<std::size_t>(1, num_slots - 1) + 1;
  return std::clamp(share, settings.least_chunk_bytes, settings.chunk_bytes);
}

void StagingRing::Crew::copy(StagingJob& job, int num_threads, CUstream stream) {
  require_own_process();
  const std::lock_guard lock(busy_);
  const ScopedRelaxedCapture relaxed(context.driver());
  const bool foreign = is_foreign_context();
  if (foreign) {
    // An event of one context can't mark a place in a stream of another.
    wait_for_work(context.driver(), stream);
    job.completes = true;
  }
  const CurrentContext current(context);
  const int num_hired = hire(num_threads);
  job.moments = settings.moments;
  begin(foreign ? nullptr : begin_of(stream));
  work_together(job, static_cast<std::size_t>(num_hired));
  if (!job.completes) leave_under_way(job, static_cast<std::size_t>(num_hired), stream);
  if (job.failed()) drop_unusable_lanes();
  job.rethrow();
}

/// True if the caller's streams are those of a context that a program made for itself.
bool StagingRing::Crew::is_foreign_context() const {
  CUcontext found = nullptr;
  context.driver().call(symbol::ctx_get_current)(&found);
  return found != nullptr && found != context.handle();
}

/// What a copy has to begin after. The legacy default stream is asked nothing: it may be idle while
/// streams that it waits for are not.
const Event* StagingRing::Crew::begin_of(CUstream stream) {
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

/// Sees to it that there are lanes and threads, fewer where there are no more to be had. Returns
/// how many.
int StagingRing::Crew::hire(int num_threads) {
  const auto wanted = static_cast<std::size_t>(num_threads);
  if (lanes_.size() < wanted) {
    try {
      add_lanes(wanted - lanes_.size());
    } catch (const Unavailable&) {
      if (lanes_.empty()) throw;
    } catch (const OutOfDeviceMemory&) {
      if (lanes_.empty()) throw;
    }
  }
  const std::size_t usable = std::min(wanted, lanes_.size());
  try {
    while (workers_.size() + 1 < usable) workers_.push_back(std::make_unique<RingWorker>(cpus_));
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): go on with fewer
  }
  return static_cast<int>(std::min(usable, workers_.size() + 1));
}

void StagingRing::Crew::add_queues() {
  const CrossingMarks marks =
      settings.marks_by_events ? CrossingMarks::events : best_marks(context);
  while (queues_.size() < static_cast<std::size_t>(settings.num_streams)) {
    queues_.push_back(std::make_shared<CrossingQueue>(context, marks));
  }
}

void StagingRing::Crew::begin(const Event* event) noexcept {
  for (const auto& queue : queues_) queue->begin(event);
}

void StagingRing::Crew::add_lanes(std::size_t num_lanes) {
  add_queues();
  const auto num_slots = static_cast<std::size_t>(settings.slots_per_thread);
  const std::size_t lane_bytes = num_slots * StagingLane::slot_bytes(settings.chunk_bytes);
  const auto region = std::make_shared<const PinnedRegion>(context, num_lanes * lane_bytes);
  std::vector<std::unique_ptr<StagingLane>> made;
  made.reserve(num_lanes);
  for (std::size_t i = 0; i < num_lanes; ++i) {
    const auto& queue = queues_[(lanes_.size() + i) % queues_.size()];
    made.push_back(std::make_unique<StagingLane>(context, queue, SlotMemory(region, i * lane_bytes),
                                                 settings.slots_per_thread, settings.chunk_bytes));
  }
  lanes_.reserve(lanes_.size() + num_lanes);
  std::move(made.begin(), made.end(), std::back_inserter(lanes_));
  pinned_bytes += num_lanes * lane_bytes;
}

/// Wakes a few helpers, who wake the others.
void StagingRing::Crew::post(StagingJob& job, std::size_t num_helpers) noexcept {
  const RingWorker::Others all(workers_.data(), num_helpers);
  const std::size_t num_first = std::min(num_helpers, kMostWokenByCaller);
  const RingWorker::Others woken_by_others = all.subspan(num_first);
  for (std::size_t i = 0; i < num_helpers; ++i) {
    RingWorker::Others share;
    if (i < num_first) {
      const std::size_t begin = woken_by_others.size() * i / num_first;
      const std::size_t end = woken_by_others.size() * (i + 1) / num_first;
      share = woken_by_others.subspan(begin, end - begin);
    }
    all[i]->post(*lanes_[i + 1], job, share);
  }
  for (const auto& worker : all.first(num_first)) worker->wake();
}

void StagingRing::Crew::work_together(StagingJob& job, std::size_t num_threads) noexcept {
  const std::size_t num_helpers = num_threads - 1;
  post(job, num_helpers);
  lanes_[0]->work(job);
  for (std::size_t i = num_helpers; i-- > 0;) {
    if (!workers_[i]->take_back()) workers_[i]->wait();
  }
}

/// Orders `stream` behind what was sent; where the driver can't, waits for it instead.
void StagingRing::Crew::leave_under_way(StagingJob& job, std::size_t num_threads, CUstream stream) {
  if (job.failed()) return;
  try {
    for (const auto& queue : queues_) queue->join(stream);
  } catch (const DriverError&) {
    bool arrived = true;
    for (std::size_t i = 0; i < num_threads; ++i) arrived &= lanes_[i]->settle(job);
    if (!arrived) job.fail();
  }
}

void StagingRing::Crew::drop_unusable_lanes() noexcept {
  const auto dropped = std::erase_if(lanes_, [](const auto& lane) { return !lane->usable(); });
  const auto num_slots = static_cast<std::size_t>(settings.slots_per_thread);
  pinned_bytes -= dropped * num_slots * StagingLane::slot_bytes(settings.chunk_bytes);
  std::erase_if(queues_, [](const auto& queue) { return !queue->usable(); });
}

void StagingRing::Crew::trim() {
  require_own_process();
  const std::lock_guard lock(busy_);
  const ScopedRelaxedCapture relaxed(context.driver());
  workers_.clear();
  lanes_.clear();
  queues_.clear();
  begin_.reset();
  pinned_bytes = 0;
}

}  // namespace isthmus::transfer
