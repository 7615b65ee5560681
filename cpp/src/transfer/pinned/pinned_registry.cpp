#include "transfer/pinned/pinned_registry.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "device/cleanup.hpp"
#include "driver/forks.hpp"
#include "host/cpu/clock.hpp"
#include "host/memory/first_touch.hpp"
#include "host/memory/memory_limits.hpp"
#include "host/memory/pages.hpp"

namespace isthmus::transfer {
namespace {

using host::kHugePageBytes;

// Above this, sums of sizes could overflow. No machine has so much memory.
constexpr std::size_t kMaxBytes = std::size_t{1} << 56U;

/// Half of the machine's or the cgroup's memory. The memlock limit doesn't matter: the driver's
/// pinning doesn't count towards it.
std::size_t default_cap() {
  const host::MemoryLimits limits = host::memory_limits();
  return static_cast<std::size_t>(
      std::min(limits.total_bytes, limits.cgroup_limit_bytes.value_or(limits.total_bytes)) / 2);
}

PinnedPoolOptions completed(PinnedPoolOptions options) {
  if (options.region_bytes > options.pin.max_piece_bytes) {
    throw UsageError("a pool's regions of " + std::to_string(options.region_bytes) +
                     " bytes: more than max_piece_bytes, " +
                     std::to_string(options.pin.max_piece_bytes));
  }
  options.region_bytes =
      host::round_up(std::max(options.region_bytes, kHugePageBytes), kHugePageBytes);
  if (options.max_bytes == 0) options.max_bytes = default_cap();
  return options;
}

void check_request(std::size_t size_bytes, std::size_t alignment_bytes) {
  if (size_bytes == 0) throw UsageError("pinned memory of 0 bytes: give at least 1");
  if (!std::has_single_bit(alignment_bytes) || alignment_bytes > kHugePageBytes) {
    throw UsageError("pinned memory aligned to " + std::to_string(alignment_bytes) +
                     " bytes: give a power of two up to 2097152 (2 MiB)");
  }
}

/// Adds the time of a scope to a counter.
class ScopedTime {
public:
  explicit ScopedTime(std::atomic<std::int64_t>& total_ns) noexcept
      : total_ns_(total_ns), begun_ns_(host::steady_ns()) {}
  ~ScopedTime() { total_ns_.fetch_add(host::steady_ns() - begun_ns_, std::memory_order_relaxed); }
  ScopedTime(const ScopedTime&) = delete;
  ScopedTime& operator=(const ScopedTime&) = delete;

private:
  std::atomic<std::int64_t>& total_ns_;
  std::int64_t begun_ns_;
};

CUstream as_stream(std::uintptr_t stream) { return reinterpret_cast<CUstream>(stream); }

}  // namespace

PinnedRegistry::PinnedRegistry(const Driver& driver, int device, const PinnedPoolOptions& options)
    : context_(Context::retain(driver, device)), options_(completed(options)) {
  watch_forks();
  generation_ = process_generation();
}

PinnedRegistry::~PinnedRegistry() {
  // Events and regions of the parent take care of themselves.
  if (generation_ != process_generation() || pending_.empty()) return;
  // Memory must not be unpinned while a copy uses it.
  const Driver& driver = context_.driver();
  const ScopedRelaxedCapture relaxed(driver);
  const CUresult pushed = driver.raw(symbol::ctx_push_current)(context_.handle());
  report_cleanup(driver, pushed, symbol::ctx_push_current.name);
  bool reached = true;
  pending_.reap(
      [&](CUevent event) {
        const CUresult result = driver.raw(symbol::event_synchronize)(event);
        report_cleanup(driver, result, symbol::event_synchronize.name);
        reached = result == CUDA_SUCCESS;
        return true;
      },
      [&](Block* block) {
        if (!reached) regions_.find(block->region->base)->second.memory.leave();
      });
  CUcontext popped = nullptr;
  if (pushed == CUDA_SUCCESS) driver.raw(symbol::ctx_pop_current)(&popped);
}

void PinnedRegistry::require_own_process() const {
  isthmus::require_own_process(generation_, "this pool of pinned memory");
}

bool PinnedRegistry::wants_whole_region(const Request& request) const noexcept {
  return request.size_bytes > options_.region_bytes / 2 ||
         request.size_bytes + request.alignment_bytes > options_.region_bytes / 2;
}

void* PinnedRegistry::allocate(std::size_t size_bytes, std::uintptr_t stream,
                               std::size_t alignment_bytes) {
  require_own_process();
  check_request(size_bytes, alignment_bytes);
  const ScopedTime time(allocate_ns_);
  Request request{size_bytes, alignment_bytes, stream != PinnedPool::kNoStream, 0};
  if (request.in_stream) {
    const CurrentContext current(context_);
    // Memory that was freed there before isn't ordered before a graph's replays; and asking for the
    // id of a captured stream would end the capture.
    request.in_stream = !may_be_captured(context_.driver(), as_stream(stream));
    if (request.in_stream) request.stream_id = id_of(as_stream(stream));
  }
  Lock lock(mutex_);
  Block* block = take_cached(lock, request);
  if (block != nullptr) {
    ++stats_.num_from_cache;
  } else {
    if (size_bytes > kMaxBytes) throw_over_cap(size_bytes);
    block = wants_whole_region(request) ? pin_whole(lock, request) : pin_shared(lock, request);
  }
  ++stats_.num_allocations;
  return block->data;
}

void* PinnedRegistry::allocate_free(std::size_t size_bytes) {
  require_own_process();
  if (size_bytes > kMaxBytes) return nullptr;
  const ScopedTime time(allocate_ns_);
  const Lock lock(mutex_);
  const Block* const block = take({size_bytes, kGranuleBytes, false, 0});
  if (block == nullptr) return nullptr;
  ++stats_.num_from_cache;
  ++stats_.num_allocations;
  return block->data;
}

/// A block that needs no pinning, or null. Asks the driver which events are complete only if
/// nothing is free.
Block* PinnedRegistry::take_cached(Lock& lock, const Request& request) {
  if (request.size_bytes > kMaxBytes) return nullptr;
  Block* block = take(request);
  if (block != nullptr || pending_.empty()) return block;
  reap(lock);
  return take(request);
}

Block* PinnedRegistry::take(const Request& request) {
  used_.reserve_one();
  Block* block = nullptr;
  const std::size_t size_bytes = request.size_bytes;
  const bool whole = wants_whole_region(request);
  const std::size_t max_bytes = std::max(
      with_waste(size_bytes), whole ? whole_region_bytes(size_bytes) : class_bytes(size_bytes));
  if (request.in_stream && !pending_.empty()) {
    block = pending_.take(request.stream_id, size_bytes, max_bytes, request.alignment_bytes);
    if (block != nullptr) {
      stats_.pending_bytes -= block->size_bytes;
      idle_events_.push_back(std::exchange(block->event, nullptr));
      block->state = BlockState::used;
      block->requested_bytes = size_bytes;
    }
  }
  if (block == nullptr) {
    block = whole ? arena_.take_whole(size_bytes, max_bytes)
                  : arena_.take(size_bytes, request.alignment_bytes);
  }
  if (block == nullptr) return nullptr;
  used_.add(block);
  stats_.requested_bytes += size_bytes;
  stats_.used_bytes += block->size_bytes;
  return block;
}

/// A block in use that is about to be freed: nobody else can free it afterwards.
Block* PinnedRegistry::claim(void* memory) {
  Block* block = used_.find(memory);
  if (block == nullptr) {
    throw UsageError(
        "not a block of this pool in use: it was never allocated here, isn't the "
        "beginning of one, or has been freed");
  }
  used_.remove(block);
  stats_.requested_bytes -= block->requested_bytes;
  stats_.used_bytes -= block->size_bytes;
  return block;
}

void PinnedRegistry::free(void* memory, std::uintptr_t stream) {
  require_own_process();
  const ScopedTime time(free_ns_);
  if (stream != PinnedPool::kNoStream) return free_in_stream(memory, as_stream(stream));
  const Lock lock(mutex_);
  arena_.give(claim(memory));
}

void PinnedRegistry::trim(std::size_t kept_bytes) {
  require_own_process();
  Lock lock(mutex_);
  give_parked();
  reap(lock);
  release_unused(lock, kept_bytes);
}

PinnedPoolStats PinnedRegistry::stats() const {
  require_own_process();
  const Lock lock(mutex_);
  PinnedPoolStats stats = stats_;
  stats.allocate_seconds = static_cast<double>(allocate_ns_.load()) * 1e-9;
  stats.free_seconds = static_cast<double>(free_ns_.load()) * 1e-9;
  return stats;
}

bool PinnedRegistry::contains(const void* memory, std::size_t size_bytes) const {
  require_own_process();
  const auto* first = static_cast<const std::byte*>(memory);
  const Lock lock(mutex_);
  auto found = regions_.upper_bound(first);
  if (found == regions_.begin()) return false;
  --found;
  const auto offset = static_cast<std::size_t>(first - found->first);
  const std::size_t region_bytes = found->second.memory.size_bytes();
  return offset < region_bytes && size_bytes <= region_bytes - offset;
}

}  // namespace isthmus::transfer
