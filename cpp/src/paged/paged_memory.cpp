#include "paged/paged_memory.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <unistd.h>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "device/cleanup.hpp"
#include "host/memory/pages.hpp"
#include "paged/paged_launching.hpp"
#include "paged/paged_layout.hpp"

namespace isthmus {
namespace {

/// Values that were copied from the device, in pages of their own: the pages of other memory may be
/// pinned, the source's among them, and a copy to memory that is pinned in part is refused.
template <typename Value>
std::vector<Value> copied(const Driver& driver, CUdeviceptr pointer, std::size_t count) {
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t size_bytes = count * sizeof(Value);
  const std::size_t whole_bytes = host::round_up(size_bytes, page_bytes);
  const std::unique_ptr<void, decltype(&std::free)> pages(
      std::aligned_alloc(page_bytes, whole_bytes), &std::free);
  if (pages == nullptr) throw std::bad_alloc();
  driver.call(symbol::memcpy_dtoh)(pages.get(), pointer, size_bytes);
  const auto* const first = static_cast<const Value*>(pages.get());
  return {first, first + count};
}

unsigned next_array_number() {
  static std::atomic<unsigned> last{0};
  return ++last;
}

}  // namespace

PagedMemory::PagedMemory(const Context& context, const Kernels& kernels, const PagedSource& source,
                         const PagedOptions& options)
    : context_(context),
      kernels_(kernels),
      options_(checked(options)),
      source_(checked(source, options)),
      host_(context, source.memory, source.size_bytes, source.read_only),
      items_(context, PagedLayout(source, options).item_bytes),
      maps_(context, PagedLayout(source, options).map_bytes),
      map_(PagedLayout(source, options)
               .map(items_.pointer(), maps_.pointer(), host_.device_pointer(),
                    next_array_number())) {
  // The driver loads a kernel when it is asked for, and may wait then for kernels that run.
  for (const char* const name : {"flush", "settle", "make_valid", "refresh"}) kernel(name);
  if (!budgeted()) kernel("conclude");
  if (keeps_changes()) kernel("take_changed");
  {
    const CurrentContext current(context_);
    const ScopedRelaxedCapture relaxed(context_.driver());
    const Driver& driver = context_.driver();
    driver.call(symbol::memset_d8_async)(maps_.pointer(), std::uint8_t{0}, maps_.size_bytes(),
                                         kDefaultStream);
    await(kDefaultStream);
  }
  // Now, so that writing back needs no memory: what is stored can be saved although the GPU is full.
  view_of(kDefaultStream);
  if (!budgeted()) return;
  launch(kDefaultStream, "begin", std::max(map_.num_frames, map_.num_units() / 32));
  await(kDefaultStream);
}

PagedMemory::~PagedMemory() {
  if (finished_ || source_.read_only || !context_.in_own_process()) return;
  try {
    flush({all()});
  } catch (const std::exception& error) {
    report_cleanup(
        "a paged array ended without close(), and what was stored to it may be missing in " +
        std::string(source_.file ? "its file" : "the host's array") + ": " + error.what());
  }
}

void PagedMemory::finish() {
  if (!source_.read_only) flush({all()});
  finished_ = true;
}

std::size_t PagedMemory::device_bytes() const noexcept {
  return items_.size_bytes() + maps_.size_bytes();
}

Kernel PagedMemory::kernel(const std::string& name) const {
  const std::string stem = budgeted() ? "budgeted" : "paged";
  return kernels_.get(stem, ("isthmus_" + stem + "_" + name).c_str());
}

paged::extent PagedMemory::units_of(const PagedRange& range) const noexcept {
  const std::uint64_t last = map_.first_byte + std::max(range.end, range.begin + 1) - 1;
  return {(map_.first_byte + range.begin) >> map_.unit_shift, (last >> map_.unit_shift) + 1};
}

paged::extent PagedMemory::whole_units_of(const PagedRange& range) const noexcept {
  const std::uint64_t unit_bytes = std::uint64_t{1} << map_.unit_shift;
  const std::uint64_t begin = map_.first_byte + range.begin, end = map_.first_byte + range.end;
  const bool is_last = range.begin < range.end && end == map_.end_byte;
  // The array's first and last unit are whole if all of their items are in the range.
  return {range.begin == 0 ? 0 : (begin + unit_bytes - 1) >> map_.unit_shift,
          is_last ? map_.num_units() : end >> map_.unit_shift};
}

std::vector<paged::extent> PagedMemory::units_of(const std::vector<PagedRange>& ranges) const {
  std::vector<paged::extent> units;
  for (const PagedRange& range : ranges)
    if (range.begin < range.end) units.push_back(units_of(range));
  return units;
}

CUdeviceptr PagedMemory::settle(CUstream stream) const {
  const CUdeviceptr view = begin_settling(stream);
  if (has_frames()) sweep(stream);
  return view;
}

CUdeviceptr PagedMemory::begin_settling(CUstream stream) const {
  const CUdeviceptr view = view_of(stream);
  const std::uint64_t num_words = map_.num_units() / 32 + 1;
  if (!budgeted())
    launch(stream, "settle", num_words, view + kPagedSettledAt, view + kPagedAllSettledAt);
  else if (has_frames())
    launch(stream, "settle", num_words, view + kPagedSettledAt);
  return view;
}

void PagedMemory::sweep(CUstream stream) const {
  launch(stream, "sweep", map_.num_frames / 32 + 1, view_of(stream) + kPagedSettledAt);
}

void PagedMemory::write_back(const std::vector<paged::extent>& units, CUstream stream) const {
  for (const auto& [begin, end] : units)
    launch(stream, "flush", end - begin, std::uint64_t{begin}, std::uint64_t{end});
}

void PagedMemory::invalidate(const std::vector<PagedRange>& ranges, bool discard) const {
  const std::scoped_lock lock(working_);
  await_device();
  std::uint64_t num_dirty = 0;
  if (!discard) {
    const std::vector<std::uint32_t> stored = stored_words();
    for (const PagedRange& range : ranges)
      if (range.begin < range.end) num_dirty += bits_within(stored, units_of(range));
  }
  if (num_dirty > 0)
    throw UsageError(
        std::to_string(num_dirty) +
        " units in these ranges were stored to and not written back, and would be "
        "lost: call flush() before the host's memory is changed, or pass discard=True");
  if (source_.file) read_file_again(ranges);
  if (budgeted()) begin_settling(kDefaultStream);
  if (budgeted() && !has_frames()) return;
  for (const PagedRange& range : ranges) {
    if (range.begin >= range.end) continue;
    const auto [begin, end] = units_of(range);
    const std::uint64_t num_lanes = budgeted() ? end - begin : (end - begin) / 32 + 2;
    for (const CUdeviceptr view : views())
      if (budgeted())
        launch(kDefaultStream, "invalidate", num_lanes, view + kPagedSettledAt,
               std::uint64_t{begin}, std::uint64_t{end});
      else
        launch(kDefaultStream, "invalidate", num_lanes, view + kPagedSettledAt,
               view + kPagedAllSettledAt, std::uint64_t{begin}, std::uint64_t{end});
  }
  await(kDefaultStream);
}

PagedStats PagedMemory::stats() const {
  const std::scoped_lock lock(working_);
  await_device();
  std::vector<std::uint32_t> held = words(map_.valid);
  if (budgeted()) {
    const std::vector<std::uint32_t> in_place = words(map_.in_place);
    for (std::size_t i = 0; i < held.size(); i++) held[i] &= ~in_place[i];
  }
  PagedStats stats = counted(held, map_, kPageBytes);
  stats.dirty_units = bits_within(stored_words(), {0, map_.num_units()});
  if (source_.file) {
    stats.file_read_bytes = source_.file->num_read_bytes();
    stats.file_written_bytes = source_.file->num_written_bytes();
  }
  const auto counters = reinterpret_cast<CUdeviceptr>(map_.counters);
  const auto counter = [&](paged::counter which) {
    return read_value<std::uint64_t>(counters + which * sizeof(paged::number));
  };
  stats.fetched_units = counter(paged::kFetched);
  stats.overwritten_units = counter(paged::kWhole);
  stats.written_units = counter(paged::kWrittenBack);
  stats.num_frames = map_.num_frames;
  stats.in_place_units = counter(paged::kInPlace);
  stats.evicted_units = counter(paged::kEvicted);
  stats.hits = counter(paged::kHits);
  return stats;
}

void PagedMemory::await_device() const {
  const CurrentContext current(context_);
  context_.driver().call(symbol::ctx_synchronize)();
}

void PagedMemory::await(CUstream stream) const {
  const CurrentContext current(context_);
  context_.driver().call(symbol::stream_synchronize)(stream);
}

std::vector<std::uint32_t> PagedMemory::words(const paged::word* words) const {
  const CurrentContext current(context_);
  return copied<std::uint32_t>(context_.driver(), reinterpret_cast<CUdeviceptr>(words),
                               (map_.num_units() + 31) / 32);
}

void PagedMemory::require_writable(const char* what) const {
  if (source_.read_only)
    throw UsageError(std::string(what) + ": the host's array is read-only, and so is this one");
}

template <typename Value>
Value PagedMemory::read_value(CUdeviceptr pointer) const {
  const CurrentContext current(context_);
  Value value{};
  context_.driver().call(symbol::memcpy_dtoh)(&value, pointer, sizeof value);
  return value;
}

void PagedMemory::require_rows(const PagedIndices& indices, std::uint64_t row_items) const {
  const std::uint64_t num_rows = num_items() / row_items;
  const CUdeviceptr first_wrong = maps_.pointer() + kPagedScratchAt;
  {
    const CurrentContext current(context_);
    context_.driver().call(symbol::memcpy_htod)(first_wrong, &indices.count, sizeof indices.count);
    const Kernel kernel = this->kernel("check");
    kernel.launch(kDefaultStream, paged_blocks_for(indices.count, context_), kPagedBlockLanes,
                  indices.pointer, indices.index_bytes, indices.count, num_rows, first_wrong);
  }
  const auto position = read_value<std::uint64_t>(first_wrong);
  if (position == indices.count) return;
  const CUdeviceptr at = indices.pointer + position * indices.index_bytes;
  const std::int64_t wrong =
      indices.index_bytes == 4 ? read_value<std::int32_t>(at) : read_value<std::int64_t>(at);
  throw UsageError(
      "index " +
      (indices.is_signed ? std::to_string(wrong) : std::to_string(std::uint64_t(wrong))) +
      ", number " + std::to_string(position) + " of those given, isn't of " +
      (row_items == 1 ? "an item" : "a row") + ": the array has " + std::to_string(num_rows) +
      ", from 0");
}

void PagedMemory::gather(const PagedIndices& indices, CUdeviceptr target,
                         std::uint64_t row_items) const {
  const std::scoped_lock lock(working_);
  if (indices.count == 0) return;
  require_rows(indices, row_items);
  settle(kDefaultStream);
  launch(kDefaultStream, "gather", indices.count * row_items, indices.pointer, indices.index_bytes,
         indices.count, row_items, target, std::uint32_t{source_.item_bytes});
  await(kDefaultStream);
}

void PagedMemory::scatter(const PagedIndices& indices, CUdeviceptr source) const {
  const std::scoped_lock lock(working_);
  require_writable("scatter");
  if (indices.count == 0) return;
  require_rows(indices, 1);
  settle(kDefaultStream);
  launch(kDefaultStream, "scatter", indices.count, indices.pointer, indices.index_bytes,
         indices.count, source, std::uint32_t{source_.item_bytes});
  await(kDefaultStream);
}

void PagedMemory::write(std::uint64_t first, std::uint64_t count, CUdeviceptr source) const {
  const std::scoped_lock lock(working_);
  require_writable("write");
  if (first > num_items() || count > num_items() - first)
    throw UsageError(std::to_string(count) + " items from item " + std::to_string(first) +
                     ": the array has " + std::to_string(num_items()));
  if (count == 0) return;
  settle(kDefaultStream);
  launch(kDefaultStream, "write", count, first, count, source, std::uint32_t{source_.item_bytes});
  await(kDefaultStream);
}

template <typename Number>
Number PagedMemory::combined(std::uint64_t num_results, PagedReduction operation) const {
  const CurrentContext current(context_);
  const std::vector<Number> results =
      copied<Number>(context_.driver(), maps_.pointer() + kPagedResultsAt, num_results);
  Number all = results[0];
  for (std::size_t i = 1; i < results.size(); i++) {
    const Number other = results[i];
    if (operation == PagedReduction::sum)
      all += other;
    else if ((operation == PagedReduction::least ? other < all : other > all) || other != other)
      all = other;
  }
  return all;
}

std::variant<double, std::int64_t> PagedMemory::reduce(std::uint64_t first, std::uint64_t count,
                                                       PagedItemKind kind,
                                                       PagedReduction operation) const {
  const std::scoped_lock lock(working_);
  if (count == 0 || first >= num_items() || count > num_items() - first)
    throw UsageError(std::to_string(count) + " items from item " + std::to_string(first) +
                     ": of the array's " + std::to_string(num_items()) + ", at least one");
  settle(kDefaultStream);
  launch(kDefaultStream, "reduce", count, first, count, std::uint32_t(kind),
         std::uint32_t(operation), maps_.pointer() + kPagedResultsAt,
         maps_.pointer() + kPagedScratchAt);
  await(kDefaultStream);
  const auto num_results = read_value<std::uint64_t>(maps_.pointer() + kPagedScratchAt);
  if (kind == PagedItemKind::float32 || kind == PagedItemKind::float64)
    return combined<double>(num_results, operation);
  return combined<std::int64_t>(num_results, operation);
}

}  // namespace isthmus
