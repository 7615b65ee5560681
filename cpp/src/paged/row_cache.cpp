#include "paged/row_cache.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "device/cleanup.hpp"
#include "device/sorted_rows.hpp"
#include "host/memory/pages.hpp"

namespace isthmus {
namespace {

constexpr unsigned kLanes = 256;        // of a block of the kernels, and
constexpr unsigned kFetchLanes = 1024;  // of the one that fetches wide rows
constexpr unsigned kFetchBlocks = 16;
// Of sorted rows few are on their way, so that few pages are in use; the link is full.
constexpr unsigned kSortedBlocks = 16;
constexpr unsigned kSortedLanes = 512;
constexpr unsigned kFlushBlocks = 16;         // more fill the queues that others' stores wait in
constexpr std::uint64_t kNarrowBytes = 4096;  // kIsthmusNarrowBytes of kernels/row_cache.cuh
constexpr std::uint64_t kChunk = 32;
constexpr std::uint64_t kJobBytes = 12;
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 31U;  // a claim has 31 bits for a position
constexpr std::uint64_t kPartAlignment = 256;

/// The report's counters, as in kernels/row_cache.cuh.
enum Counter : std::size_t {
  kCalls,
  kKeys,
  kMissing,
  kFetched,
  kEvicted,
  kWritten,
  kFull,
  kBeyond,
  kUnordered,
  kFirstBeyond,
  kNumCounters
};
constexpr std::size_t kStateBytes =
    kNumCounters * sizeof(std::uint64_t) + 8 * sizeof(std::uint32_t);

RowCacheSource checked(const RowCacheSource& source, const RowCacheOptions& options) {
  if (source.row_bytes < RowCache::kMinRowBytes || source.row_bytes > RowCache::kMaxRowBytes ||
      source.row_bytes % 16 != 0)
    throw UsageError("rows of " + std::to_string(source.row_bytes) +
                     " bytes: a cache has rows of 256 bytes to 256 MiB, in whole 16 bytes; pad the "
                     "table's rows, or cut them");
  if (reinterpret_cast<std::uintptr_t>(source.table) % 16 != 0)
    throw UsageError(
        "the table isn't at a multiple of 16 bytes in memory: copy it, for instance to "
        "isthmus.pinned.empty()");
  if (source.num_rows >= kMaxCount)
    throw UsageError("the table has " + std::to_string(source.num_rows) +
                     " rows: a cache takes less than 2^31");
  if (options.num_slots == 0 || options.num_slots > source.num_rows)
    throw UsageError(
        "a cache of " + std::to_string(options.num_slots) + " rows: it has 1 to " +
        std::to_string(source.num_rows) +
        ", as many as the table; if all of them fit, copy the table to the GPU instead");
  if (options.write_back && source.read_only)
    throw UsageError("the table is read-only: nothing can be written back to it");
  return source;
}

/// Parts of one allocation, one after the other.
class Parts {
public:
  explicit Parts(CUdeviceptr begin = 0) : begin_(begin), end_(begin) {}
  CUdeviceptr take(std::uint64_t size_bytes) {
    const CUdeviceptr part = end_;
    end_ += host::round_up(size_bytes, kPartAlignment);
    return part;
  }
  std::size_t size_bytes() const { return end_ - begin_; }

private:
  CUdeviceptr begin_, end_;
};

/// Whether a call of so many keys fetches rows in the order of the table.
bool sorts(const KernelRowCache& cache, std::uint64_t num_keys) {
  return is_worth_sorting(cache.num_rows * cache.row_bytes, cache.row_bytes, num_keys);
}

/// Where the maps lie in their memory. A cache that doesn't write back marks no rows, and narrow rows
/// need no jobs unless they are sorted.
KernelRowCache laid_out(const RowCacheSource& source, const RowCacheOptions& options,
                        CUdeviceptr& sorting, Parts& parts) {
  KernelRowCache cache;
  const std::uint64_t num_slots = options.num_slots;
  cache.num_rows = source.num_rows;
  cache.num_slots = options.num_slots;
  cache.row_bytes = static_cast<std::uint32_t>(source.row_bytes);
  cache.state = parts.take(kStateBytes);
  cache.map = parts.take(source.num_rows * sizeof(std::uint32_t));
  cache.words = parts.take(host::round_up(num_slots, kChunk) * sizeof(std::uint32_t));
  if (options.write_back) cache.dirty = parts.take(num_slots);
  const bool sorts_any = sorts(cache, source.num_rows);
  if (sorts_any || source.row_bytes > kNarrowBytes) cache.jobs = parts.take(num_slots * kJobBytes);
  if (sorts_any) sorting = parts.take(kSortingBinsBytes + num_slots * kJobBytes);
  cache.rows = source.rows;
  cache.keys = source.keys;
  cache.has_clock = options.has_clock ? 1 : 0;
  return cache;
}

std::size_t map_bytes(const RowCacheSource& source, const RowCacheOptions& options) {
  Parts parts;
  CUdeviceptr sorting = 0;
  laid_out(source, options, sorting, parts);
  return parts.size_bytes();
}

}  // namespace

RowCache::RowCache(const Context& context, const Kernels& kernels, const RowCacheSource& source,
                   const RowCacheOptions& options)
    : context_(context),
      kernels_(kernels),
      options_(options),
      host_(context, checked(source, options).table, source.num_rows * source.row_bytes,
            source.read_only),
      report_(context, kNumCounters * sizeof(std::uint64_t)),
      maps_(context, map_bytes(source, options)),
      last_(context, Event::Timing::disabled),
      ensure_(kernels.get("row_cache", "isthmus_row_cache_ensure")),
      count_(kernels.get("row_cache", "isthmus_row_cache_count")),
      place_(kernels.get("row_cache", "isthmus_row_cache_place")),
      fetch_(kernels.get("row_cache", "isthmus_row_cache_fetch")),
      update_(kernels.get("row_cache", "isthmus_row_cache_update")),
      flush_(kernels.get("row_cache", "isthmus_row_cache_flush")) {
  Parts parts(maps_.pointer());
  cache_ = laid_out(source, options, sorting_, parts);
  cache_.table = host_.device_pointer();
  std::memset(report_.data(), 0, report_.size_bytes());
  const CurrentContext current(context_);
  cache_.report = report_.device_pointer();
  const Driver& driver = context_.driver();
  const ScopedRelaxedCapture relaxed(driver);
  const Stream filling(context_);
  const auto none = std::numeric_limits<std::uint8_t>::max();
  driver.call(symbol::memset_d8_async)(maps_.pointer(), std::uint8_t{0}, maps_.size_bytes(),
                                       filling.handle());
  driver.call(symbol::memset_d8_async)(cache_.state + kFirstBeyond * sizeof(std::uint64_t), none,
                                       sizeof(std::uint64_t), filling.handle());
  driver.call(symbol::memset_d8_async)(cache_.keys, none, options.num_slots * sizeof(std::uint32_t),
                                       filling.handle());
  filling.synchronize();
}

RowCache::~RowCache() {
  if (!context_.in_own_process()) return;
  try {
    finish();
  } catch (const std::exception& error) {
    report_cleanup(
        "a row cache ended without close(), and what was stored to its rows may be missing in the "
        "table: " +
        std::string(error.what()));
  }
}

void RowCache::finish() {
  if (options_.write_back && !finished_) {
    await_device();
    if (is_whole()) flush();
  }
  finished_ = true;
}

bool RowCache::is_whole() const noexcept { return !broken_ && told(kUnordered) == 0; }

unsigned RowCache::blocks_for(std::uint64_t num_lanes, unsigned lanes) const noexcept {
  const auto most = static_cast<std::uint64_t>(std::max(1, context_.device().num_multiprocessors));
  return static_cast<unsigned>(std::clamp<std::uint64_t>((num_lanes + lanes - 1) / lanes, 1, most));
}

/// Orders a call after the last one. The caller has the mutex and a current context.
///
/// Returns     true if the stream is captured: its order is the caller's
bool RowCache::begin(CUstream stream) {
  const Driver& driver = context_.driver();
  const bool captured = is_captured(driver, stream);
  // The driver skips it in the same stream. A handle doesn't say which one that is: it may be a new
  // stream's by now, and that of the threads' own streams is the same in each thread.
  if (!captured) driver.call(symbol::stream_wait_event)(stream, last_.handle(), 0U);
  return captured;
}

void RowCache::launch(const RowCacheKeys& keys, CUstream stream) {
  if (keys.count >= kMaxCount)
    throw UsageError(std::to_string(keys.count) + " keys in one call: it takes less than 2^31");
  check();
  if (keys.count == 0) return;
  const CurrentContext current(context_);
  const std::scoped_lock lock(mutex_);
  const bool captured = begin(stream);
  const unsigned num_blocks = blocks_for(keys.count, kLanes);
  Kernel::Settings settings;
  settings.cooperative = num_blocks > 1;  // its blocks wait for each other
  const bool sorted = sorts(cache_, keys.count);
  KernelRowCache cache = cache_;
  if (sorting_ != 0 && !sorted) cache.jobs = 0;
  ensure_.launch_as(settings, stream, num_blocks, kLanes, cache, keys);
  if (cache.jobs != 0) fetch(cache, sorted ? keys.count : 0, stream);
  if (!captured) last_.record(stream);
}

/// Without it, rows would have slots that they never came to.
///
/// num_sorted  the most rows that are to be sorted; 0: none are
void RowCache::fetch(KernelRowCache cache, std::uint64_t num_sorted, CUstream stream) try {
  if (num_sorted == 0)
    return fetch_.launch(stream, std::min(kFetchBlocks, blocks_for(kMaxCount, kLanes)), kFetchLanes,
                         cache);
  const unsigned num_blocks = blocks_for(num_sorted, kFetchLanes);
  const CUdeviceptr ordered = sorting_ + kSortingBinsBytes;
  context_.driver().call(symbol::memset_d8_async)(sorting_, std::uint8_t{0}, kSortingBinsBytes,
                                                  stream);
  count_.launch(stream, num_blocks, kFetchLanes, cache, sorting_);
  place_.launch(stream, num_blocks, kFetchLanes, cache, sorting_, ordered);
  cache.jobs = ordered;
  fetch_.launch(stream, std::min(kSortedBlocks, blocks_for(kMaxCount, kLanes)), kSortedLanes,
                cache);
} catch (...) {
  broken_ = true;
  throw;
}

void RowCache::ensure(const RowCacheKeys& keys, CUstream stream) { launch(keys, stream); }

void RowCache::prefetch(RowCacheKeys keys, CUstream stream) {
  keys.slots = 0;
  launch(keys, stream);
}

void RowCache::update(const RowCacheKeys& slots, CUdeviceptr values, CUstream stream) {
  if (!options_.write_back)
    throw UsageError(
        "this cache doesn't write back: what is stored to its rows would be lost. Make it with "
        "write_back=True");
  if (slots.count == 0) return;
  const CurrentContext current(context_);
  const std::scoped_lock lock(mutex_);
  const bool captured = begin(stream);
  update_.launch(stream, blocks_for(slots.count, kLanes), kLanes, cache_, slots, values);
  if (!captured) last_.record(stream);
}

void RowCache::flush(CUstream stream) {
  if (!options_.write_back) return;
  const CurrentContext current(context_);
  const std::scoped_lock lock(mutex_);
  const bool captured = begin(stream);
  flush_.launch(stream, std::min(kFlushBlocks, blocks_for(options_.num_slots, kLanes)), kLanes,
                cache_);
  if (!captured) last_.record(stream);
}

void RowCache::flush() {
  await_device();
  flush(nullptr);
  await_device();
}

void RowCache::await_device() const {
  const CurrentContext current(context_);
  context_.driver().call(symbol::ctx_synchronize)();
}

std::uint64_t RowCache::told(std::size_t counter) const noexcept {
  auto* const words = reinterpret_cast<std::uint64_t*>(report_.data());
  return std::atomic_ref(words[counter]).load(std::memory_order_relaxed);
}

RowCacheStats RowCache::stats() const noexcept {
  RowCacheStats stats;
  stats.calls = told(kCalls);
  stats.keys = told(kKeys);
  stats.fetched = told(kFetched);
  stats.evicted = told(kEvicted);
  stats.written = told(kWritten);
  stats.without_room = told(kFull);
  stats.beyond_table = told(kBeyond);
  const std::uint64_t others = told(kMissing) + stats.beyond_table;
  stats.hits = stats.keys > others ? stats.keys - others : 0;  // while the kernel writes them
  return stats;
}

void RowCache::check() {
  const std::scoped_lock lock(mutex_);
  const auto last = " of an earlier call";
  if (broken_)
    throw UsageError(
        "an earlier call of this cache failed halfway, and its rows can't be trusted any more: "
        "make a new cache. close() writes nothing back from this one");
  if (told(kUnordered) != 0)
    throw UsageError(
        "calls of this cache ran beside each other, and its rows can't be trusted any more: order "
        "graphs and streams that use one cache by events, and make a new cache. close() writes "
        "nothing back from this one");
  if (const std::uint64_t beyond = told(kBeyond); beyond != told_beyond_) {
    const std::uint64_t count = beyond - std::exchange(told_beyond_, beyond);
    throw UsageError(std::to_string(count) + " keys" + last + ", the first at position " +
                     std::to_string(told(kFirstBeyond) - 1) +
                     ", are no rows of the table, which has " + std::to_string(cache_.num_rows) +
                     ": their slots are -1, and nothing else was harmed");
  }
  if (const std::uint64_t full = told(kFull); full != told_full_) {
    const std::uint64_t count = full - std::exchange(told_full_, full);
    throw UsageError(std::to_string(count) + " keys" + last +
                     " found no room: it had more distinct keys than the cache has rows, " +
                     std::to_string(cache_.num_slots) +
                     ". Their slots are -1; ask for fewer at once, or make a larger cache");
  }
}

}  // namespace isthmus
