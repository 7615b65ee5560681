#include "paged/paged_memory.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <string>
#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "paged/paged_layout.hpp"

namespace isthmus {
namespace {

constexpr unsigned kBlockLanes = 256;
constexpr std::uint64_t kMaxBlocks = 1024;  // kPagedResults of them are kept
constexpr CUstream kDefaultStream = nullptr;

unsigned blocks_for(std::uint64_t num_lanes, const Context& context) {
  const std::uint64_t resident =
      std::min(kMaxBlocks, std::uint64_t(std::max(1, context.device().num_multiprocessors)) * 8);
  return unsigned(
      std::clamp<std::uint64_t>((num_lanes + kBlockLanes - 1) / kBlockLanes, 1, resident));
}

void require_unit(std::size_t unit_bytes) {
  if (std::has_single_bit(unit_bytes) && unit_bytes >= PagedMemory::kMinUnitBytes &&
      unit_bytes <= PagedMemory::kMaxUnitBytes)
    return;
  throw UsageError("a unit of " + std::to_string(unit_bytes) +
                   " bytes: it must be a power of two from 256 bytes to 64 KiB, such as 1024");
}

PagedSource checked(const PagedSource& source, std::size_t unit_bytes) {
  require_unit(unit_bytes);
  if (source.size_bytes == 0) throw UsageError("a paged array needs at least one item");
  if (!std::has_single_bit(source.item_bytes) || source.item_bytes > 16)
    throw UsageError("items of " + std::to_string(source.item_bytes) +
                     " bytes: a paged array's have 1, 2, 4, 8 or 16");
  if (reinterpret_cast<std::uintptr_t>(source.memory) % source.item_bytes != 0)
    throw UsageError("the array's memory isn't aligned to its items: copy it first");
  if (source.size_bytes / unit_bytes >= paged::kNoUnit - 1)
    throw UsageError("an array of " + std::to_string(source.size_bytes) +
                     " bytes has more than 2^32 units: choose larger ones");
  return source;
}

unsigned next_array_number() {
  static std::atomic<unsigned> last{0};
  return ++last;
}

}  // namespace

PagedMemory::PagedMemory(const Context& context, const Kernels& kernels, const PagedSource& source,
                         std::size_t unit_bytes)
    : context_(context),
      kernels_(kernels),
      source_(checked(source, unit_bytes)),
      host_(context, source.memory, source.size_bytes, source.read_only),
      items_(context, PagedLayout(source, unit_bytes).item_bytes),
      maps_(context, PagedLayout(source, unit_bytes).map_bytes),
      map_(PagedLayout(source, unit_bytes)
               .map(items_.pointer(), maps_.pointer(), host_.device_pointer(),
                    next_array_number())) {
  kernels_.get("paged", "isthmus_paged_flush");
  const CurrentContext current(context_);
  const ScopedRelaxedCapture relaxed(context_.driver());
  const Driver& driver = context_.driver();
  driver.call(symbol::memset_d8_async)(maps_.pointer(), std::uint8_t{0}, maps_.size_bytes(),
                                       kDefaultStream);
  await(kDefaultStream);
}

PagedMemory::~PagedMemory() {
  if (source_.read_only || !context_.in_own_process()) return;
  try {
    flush();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the device is lost, and what it held
  }
}

std::size_t PagedMemory::device_bytes() const noexcept {
  return items_.size_bytes() + maps_.size_bytes();
}

template <typename... Arguments>
void PagedMemory::launch(CUstream stream, const char* name, std::uint64_t num_lanes,
                         const Arguments&... arguments) const {
  const CUdeviceptr view = view_of(stream);
  const Kernel kernel = kernels_.get("paged", name);
  const CurrentContext current(context_);
  kernel.launch(stream, blocks_for(num_lanes, context_), kBlockLanes, view, arguments...);
}

CUdeviceptr PagedMemory::view_of(CUstream stream) const {
  const std::scoped_lock lock(viewing_);
  if (const auto found = views_.find(stream); found != views_.end()) return found->second.pointer();
  const CurrentContext current(context_);
  const Driver& driver = context_.driver();
  if (is_captured(driver, stream))
    throw UsageError(
        "this stream is being captured, and the paged array wasn't used in it before: "
        "call argument(stream) once before the capture");
  const ScopedRelaxedCapture relaxed(driver);
  DeviceBuffer view(context_, PagedLayout(source_, unit_bytes()).view_bytes);
  paged_map map = map_;
  map.settled = reinterpret_cast<const paged::word*>(view.pointer() + kPagedSettledAt);
  driver.call(symbol::memset_d8_async)(view.pointer(), std::uint8_t{0}, view.size_bytes(), stream);
  driver.call(symbol::memcpy_htod_async)(view.pointer(), &map, sizeof map, stream);
  driver.call(symbol::stream_synchronize)(stream);
  return views_.emplace(stream, std::move(view)).first->second.pointer();
}

paged::extent PagedMemory::units_of(const PagedRange& range) const noexcept {
  const std::uint64_t last = map_.first_byte + std::max(range.end, range.begin + 1) - 1;
  return {(map_.first_byte + range.begin) >> map_.unit_shift, (last >> map_.unit_shift) + 1};
}

CUdeviceptr PagedMemory::settle(CUstream stream) const {
  const CUdeviceptr view = view_of(stream);
  launch(stream, "isthmus_paged_settle", map_.num_units() / 32 + 1, view + kPagedSettledAt);
  return view;
}

void PagedMemory::prefetch(const std::vector<PagedRange>& ranges, CUstream stream) const {
  for (const PagedRange& range : ranges) {
    if (range.begin >= range.end) continue;
    const auto [begin, end] = units_of(range);
    launch(stream, "isthmus_paged_prefetch", end - begin, std::uint64_t{begin}, std::uint64_t{end});
  }
}

void PagedMemory::flush(CUstream stream) const {
  require_writable("flush");
  launch(stream, "isthmus_paged_flush", map_.num_units());
}

void PagedMemory::flush() const {
  await_device();
  flush(kDefaultStream);
  await(kDefaultStream);
}

void PagedMemory::invalidate(const std::vector<PagedRange>& ranges, bool discard) const {
  const std::scoped_lock lock(working_);
  await_device();
  std::uint64_t num_dirty = 0;
  if (!discard) {
    const std::vector<std::uint32_t> dirty = words(map_.dirty);
    for (const PagedRange& range : ranges)
      if (range.begin < range.end) num_dirty += bits_within(dirty, units_of(range));
  }
  if (num_dirty > 0)
    throw UsageError(
        std::to_string(num_dirty) +
        " units in these ranges were stored to and not written back, and would be "
        "lost: call flush() before the host's memory is changed, or pass discard=True");
  for (const PagedRange& range : ranges) {
    if (range.begin >= range.end) continue;
    const auto [begin, end] = units_of(range);
    for (const CUdeviceptr settled : settled_bits())
      launch(kDefaultStream, "isthmus_paged_invalidate", (end - begin) / 32 + 2, settled,
             std::uint64_t{begin}, std::uint64_t{end});
  }
  await(kDefaultStream);
}

std::vector<CUdeviceptr> PagedMemory::settled_bits() const {
  view_of(kDefaultStream);  // so that there is one
  const std::scoped_lock lock(viewing_);
  std::vector<CUdeviceptr> pointers;
  pointers.reserve(views_.size());
  for (const auto& [stream, view] : views_) pointers.push_back(view.pointer() + kPagedSettledAt);
  return pointers;
}

PagedStats PagedMemory::stats() const {
  const std::scoped_lock lock(working_);
  await_device();
  PagedStats stats = counted(words(map_.valid), map_, kPageBytes);
  stats.dirty_units = bits_within(words(map_.dirty), {0, map_.num_units()});
  const auto counters = reinterpret_cast<CUdeviceptr>(map_.counters);
  stats.fetched_units = read_value<std::uint64_t>(counters);
  stats.overwritten_units = read_value<std::uint64_t>(counters + 8);
  stats.written_units = read_value<std::uint64_t>(counters + 16);
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
  std::vector<std::uint32_t> read((map_.num_units() + 31) / 32);
  context_.driver().call(symbol::memcpy_dtoh)(read.data(), reinterpret_cast<CUdeviceptr>(words),
                                              read.size() * sizeof(std::uint32_t));
  return read;
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

void PagedMemory::require_items(const PagedIndices& indices) const {
  const CUdeviceptr first_wrong = maps_.pointer() + kPagedScratchAt;
  {
    const CurrentContext current(context_);
    context_.driver().call(symbol::memcpy_htod)(first_wrong, &indices.count, sizeof indices.count);
    const Kernel kernel = kernels_.get("paged", "isthmus_paged_check");
    kernel.launch(kDefaultStream, blocks_for(indices.count, context_), kBlockLanes, indices.pointer,
                  indices.index_bytes, indices.count, num_items(), first_wrong);
  }
  const auto position = read_value<std::uint64_t>(first_wrong);
  if (position == indices.count) return;
  const CUdeviceptr at = indices.pointer + position * indices.index_bytes;
  const std::int64_t wrong =
      indices.index_bytes == 4 ? read_value<std::int32_t>(at) : read_value<std::int64_t>(at);
  throw UsageError("index " + std::to_string(wrong) + ", number " + std::to_string(position) +
                   " of those given, isn't of an item: the array has " +
                   std::to_string(num_items()) + ", from 0");
}

void PagedMemory::gather(const PagedIndices& indices, CUdeviceptr target) const {
  const std::scoped_lock lock(working_);
  if (indices.count == 0) return;
  require_items(indices);
  settle(kDefaultStream);
  launch(kDefaultStream, "isthmus_paged_gather", indices.count, indices.pointer,
         indices.index_bytes, indices.count, target, std::uint32_t{source_.item_bytes});
  await(kDefaultStream);
}

void PagedMemory::scatter(const PagedIndices& indices, CUdeviceptr source) const {
  const std::scoped_lock lock(working_);
  require_writable("scatter");
  if (indices.count == 0) return;
  require_items(indices);
  settle(kDefaultStream);
  launch(kDefaultStream, "isthmus_paged_scatter", indices.count, indices.pointer,
         indices.index_bytes, indices.count, source, std::uint32_t{source_.item_bytes});
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
  launch(kDefaultStream, "isthmus_paged_write", count, first, count, source,
         std::uint32_t{source_.item_bytes});
  await(kDefaultStream);
}

template <typename Number>
Number PagedMemory::combined(std::uint64_t num_results, PagedReduction operation) const {
  const CurrentContext current(context_);
  std::vector<Number> results(num_results);
  context_.driver().call(symbol::memcpy_dtoh)(results.data(), maps_.pointer() + kPagedResultsAt,
                                              num_results * sizeof(Number));
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
  launch(kDefaultStream, "isthmus_paged_reduce", count, first, count, std::uint32_t(kind),
         std::uint32_t(operation), maps_.pointer() + kPagedResultsAt,
         maps_.pointer() + kPagedScratchAt);
  await(kDefaultStream);
  const auto num_results = read_value<std::uint64_t>(maps_.pointer() + kPagedScratchAt);
  if (kind == PagedItemKind::float32 || kind == PagedItemKind::float64)
    return combined<double>(num_results, operation);
  return combined<std::int64_t>(num_results, operation);
}

}  // namespace isthmus
