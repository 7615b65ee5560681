#include "measure/paging/paging.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "host/memory/pages.hpp"
#include "measure/memory/managed_memory.hpp"
#include "paged/paged_memory.hpp"

namespace isthmus::measure {
namespace {

using workloads::Part;

constexpr std::uint8_t kPoison = 0xA5;

/// All data in the device's memory: before the program runs, or by its copies.
class DeviceMemory final : public WayOfPaging {
public:
  DeviceMemory(const PagingPlace& place, PagingWay way)
      : WayOfPaging(place), way_(way), device_(place.context, place.host.size_bytes()) {
    restore(host());
    place.context.driver().call(symbol::memcpy_htod)(device_.pointer(), host(),
                                                     device_.size_bytes());
  }

  void prepare() override {
    restore(host());
    for (const Part& part : place_.run.changed()) copy_up(part);
    if (way_ != PagingWay::ideal)
      for (const Part& part : place_.run.uploaded())
        place_.context.driver().call(symbol::memset_d8_async)(
            device_.pointer() + part.first, kPoison, part.size_bytes, place_.stream.handle());
    place_.stream.synchronize();
  }
  void upload(const Part& part) override {
    if (way_ != PagingWay::ideal) copy_up(part);
  }
  void read(const Part& part) override {
    copy_down(part);
    place_.stream.synchronize();
  }
  void write(const Part& part, std::span<const std::byte> bytes) override {
    std::copy(bytes.begin(), bytes.end(), host() + part.first);
    copy_up(part);
  }
  HeapArgument heap() override { return {"plain", device_.pointer()}; }
  bool launches() const override { return way_ != PagingWay::copies; }
  std::span<const std::byte> finish() override {
    if (way_ == PagingWay::copies)
      for (const Part& part : place_.run.uploaded()) copy_down(part);
    else
      for (const Part& part : place_.run.results()) copy_down(part);
    place_.stream.synchronize();
    return {host(), place_.host.size_bytes()};
  }

private:
  std::byte* host() const { return place_.host.data(); }
  void copy_up(const Part& part) {
    place_.context.driver().call(symbol::memcpy_htod_async)(device_.pointer() + part.first,
                                                            host() + part.first, part.size_bytes,
                                                            place_.stream.handle());
  }
  void copy_down(const Part& part) {
    place_.context.driver().call(symbol::memcpy_dtoh_async)(
        host() + part.first, device_.pointer() + part.first, part.size_bytes,
        place_.stream.handle());
  }

  PagingWay way_;
  DeviceBuffer device_;
};

/// Nothing is copied: kernels fetch units, or access the host's memory in place.
class PagedHeap final : public WayOfPaging {
public:
  /// Promised: the program says what it overwrites, before its first kernel.
  PagedHeap(const PagingPlace& place, const PagingOptions& options)
      : WayOfPaging(place),
        way_(options.way),
        kernels_(options.paged.budget_bytes ? "budgeted" : "paged"),
        paged_(place.context, place.kernels,
               PagedSource{place.host.data(), place.host.size_bytes(), 1, false, nullptr},
               options.paged),
        beside_(place.context) {}

  void prepare() override {
    paged_.invalidate({{0, place_.host.size_bytes()}}, true);
    restore(place_.host.data());
    begun_ = false;
  }
  void read(const Part& part) override { write_back(part); }
  void write(const Part& part, std::span<const std::byte> bytes) override {
    std::copy(bytes.begin(), bytes.end(), place_.host.data() + part.first);
    paged_.refresh(ranges_of({part}), place_.stream.handle());
  }
  HeapArgument heap() override {
    if (!std::exchange(begun_, true)) begin();
    return {kernels_, paged_.settle(place_.stream.handle())};
  }
  std::span<const std::byte> finish() override {
    write_back({0, place_.host.size_bytes()});
    return {place_.host.data(), place_.host.size_bytes()};
  }

private:
  void begin() {
    if (way_ == PagingWay::paged) return;
    paged_.will_overwrite(ranges_of(place_.run.filled()), place_.stream.handle());
    if (way_ == PagingWay::promised || place_.run.uploaded().empty()) return;
    const Stream& stream = way_ == PagingWay::prefetched ? beside_ : place_.stream;
    paged_.prefetch(ranges_of(place_.run.uploaded()), stream.handle());
  }
  static std::vector<PagedRange> ranges_of(const std::vector<Part>& parts) {
    std::vector<PagedRange> ranges;
    ranges.reserve(parts.size());
    for (const Part& part : parts) ranges.push_back({part.first, part.first + part.size_bytes});
    return ranges;
  }
  void write_back(const Part& part) {
    paged_.flush(ranges_of({part}), place_.stream.handle());
    place_.stream.synchronize();
  }

  PagingWay way_;
  const char* kernels_;
  bool begun_ = false;  ///< a kernel has run since prepare()
  PagedMemory paged_;
  Stream beside_;
};

/// Kernels access the host's pinned memory.
class InPlace final : public WayOfPaging {
public:
  using WayOfPaging::WayOfPaging;

  void prepare() override { restore(place_.host.data()); }
  void read(const Part& /*part*/) override { place_.stream.synchronize(); }
  void write(const Part& part, std::span<const std::byte> bytes) override {
    std::copy(bytes.begin(), bytes.end(), place_.host.data() + part.first);
  }
  HeapArgument heap() override { return {"plain", place_.host.device_pointer()}; }
  std::span<const std::byte> finish() override {
    return {place_.host.data(), place_.host.size_bytes()};
  }
};

/// The operands of a call that prefetches many ranges to one device.
class PrefetchedRanges {
public:
  explicit PrefetchedRanges(CUdeviceptr memory) : memory_(memory) {}

  void clear() {
    addresses_.clear();
    sizes_bytes_.clear();
  }
  void add(const Part& part) {
    addresses_.push_back(memory_ + part.first);
    sizes_bytes_.push_back(part.size_bytes);
  }
  /// Adds the host's pages that are wholly in this part: the contents of others are kept.
  void add_whole_pages(const Part& part) {
    const std::uint64_t page = host::page_bytes();
    const std::uint64_t first = host::round_up(part.first, page);
    const std::uint64_t end = (part.first + part.size_bytes) / page * page;
    if (first < end) add({first, end - first});
  }
  /// Begins it, unless there are no ranges, and forgets them.
  template <typename Prefetch>
  void to(int device, Prefetch prefetch, CUstream stream) {
    if (addresses_.empty()) return;
    CUmemLocation location = location_of(device);
    std::size_t first = 0;
    prefetch(addresses_.data(), sizes_bytes_.data(), addresses_.size(), &location, &first,
             std::size_t{1}, 0ULL, stream);
    clear();
  }

private:
  CUdeviceptr memory_;
  std::vector<CUdeviceptr> addresses_;
  std::vector<std::size_t> sizes_bytes_;
};

/// Managed memory, whose pages are the CPU's before each run.
class Managed final : public WayOfPaging {
public:
  Managed(const PagingPlace& place, PagingWay way)
      : WayOfPaging(place),
        way_(way),
        memory_(place.context, place.host.size_bytes()),
        uploads_(memory_.device()) {
    require_concurrent_access(place.context);
    std::memcpy(memory_.host(), place.run.memory().data(), memory_.size_bytes());
    if (way_ != PagingWay::managed) advise();
  }

  void prepare() override {
    prefetch({0, memory_.size_bytes()}, CU_DEVICE_CPU);
    place_.stream.synchronize();
    restore(memory_.host());
    begun_ = false;
    uploads_.clear();
    if (way_ == PagingWay::managed) return;
    for (const Part& part : place_.run.made())
      if (way_ == PagingWay::managed_hints || !is_filled(part)) prefetch(part, ordinal());
    place_.stream.synchronize();
  }
  void upload(const Part& part) override {
    if (way_ == PagingWay::managed_hints) prefetch(part, ordinal());
    if (way_ == PagingWay::managed_batches) uploads_.add(part);
  }
  void read(const Part& part) override {
    place_.stream.synchronize();
    const volatile std::byte* const bytes = memory_.host() + part.first;
    for (std::uint64_t i = 0; i < part.size_bytes; ++i) static_cast<void>(bytes[i]);
  }
  void write(const Part& part, std::span<const std::byte> bytes) override {
    std::copy(bytes.begin(), bytes.end(), memory_.host() + part.first);
  }
  HeapArgument heap() override {
    if (way_ == PagingWay::managed_batches) prefetch_batches();
    return {"plain", memory_.device()};
  }
  std::span<const std::byte> finish() override { return {memory_.host(), memory_.size_bytes()}; }

private:
  int ordinal() const { return place_.context.device().ordinal; }
  /// True if it needs no contents.
  bool is_filled(const Part& part) const {
    const std::vector<Part>& filled = place_.run.filled();
    return std::any_of(filled.begin(), filled.end(),
                       [&](const Part& one) { return one.first == part.first; });
  }
  void prefetch_batches() {
    const Driver& driver = place_.context.driver();
    if (!std::exchange(begun_, true)) {
      PrefetchedRanges filled(memory_.device());
      for (const Part& part : place_.run.filled()) filled.add_whole_pages(part);
      filled.to(ordinal(), driver.call(symbol::mem_discard_and_prefetch_batch_async),
                place_.stream.handle());
    }
    uploads_.to(ordinal(), driver.call(symbol::mem_prefetch_batch_async), place_.stream.handle());
  }
  void prefetch(const Part& part, int device) {
    place_.context.driver().call(symbol::mem_prefetch_async)(memory_.device() + part.first,
                                                             part.size_bytes, location_of(device),
                                                             0U, place_.stream.handle());
  }
  void advise() {
    const auto advise = place_.context.driver().call(symbol::mem_advise);
    advise(memory_.device(), memory_.size_bytes(), CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
           location_of(ordinal()));
    for (const Part& part : place_.run.touched()) {
      const CUdeviceptr pointer = memory_.device() + part.first;
      advise(pointer, part.size_bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
             location_of(CU_DEVICE_CPU));
      advise(pointer, part.size_bytes, CU_MEM_ADVISE_SET_ACCESSED_BY, location_of(ordinal()));
    }
  }

  PagingWay way_;
  ManagedAllocation memory_;
  PrefetchedRanges uploads_;  ///< since the last launch
  bool begun_ = false;        ///< a kernel has run since prepare()
};

}  // namespace

void WayOfPaging::restore(std::byte* memory) const {
  for (const Part& part : place_.run.changed())
    std::memcpy(memory + part.first, &place_.run.memory()[part.first], part.size_bytes);
}

std::unique_ptr<WayOfPaging> make_way(const PagingPlace& place, const PagingOptions& options) {
  switch (options.way) {
    case PagingWay::paged:
    case PagingWay::promised:
    case PagingWay::prefetched:
    case PagingWay::prefetched_first:
      return std::make_unique<PagedHeap>(place, options);
    case PagingWay::managed:
    case PagingWay::managed_hints:
    case PagingWay::managed_batches:
      return std::make_unique<Managed>(place, options.way);
    case PagingWay::zero_copy:
      return std::make_unique<InPlace>(place);
    default:
      return std::make_unique<DeviceMemory>(place, options.way);
  }
}

}  // namespace isthmus::measure
