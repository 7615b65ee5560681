#include "measure/window/window_buffers.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include <isthmus/errors.hpp>

#include "host/cpu/copy_instructions.hpp"
#include "host/cpu/topology.hpp"
#include "host/memory/pages.hpp"
#include "host/memory/pattern.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

/// Different buffers hold different bytes, so that bytes of the wrong buffer are detected.
std::uint64_t next_seed() {
  static std::atomic<std::uint64_t> count{0};
  return 0x77696e646f77ULL + ++count * 0x2545f4914f6cdd1dULL;
}

host::PageableBuffer placed_buffer(std::size_t size_bytes, std::optional<int> numa_node) {
  std::optional<host::ScopedMemoryPolicy> policy;
  if (numa_node) policy.emplace(*numa_node);
  host::PageableBuffer buffer(size_bytes);
  std::memset(buffer.data(), kWindowPoison, size_bytes);  // places the pages
  return buffer;
}

PinnedBuffer placed_pinned_buffer(const Context& context, std::size_t size_bytes,
                                  std::optional<int> numa_node) {
  std::optional<host::ScopedMemoryPolicy> policy;
  if (numa_node) policy.emplace(*numa_node);
  return {context, size_bytes};
}

Window open_window(Windows& windows, const DeviceBuffer& buffer, int num_threads) {
  WindowOptions options;
  options.num_threads = num_threads;
  return windows.open(buffer.pointer(), buffer.size_bytes(), options);
}

[[noreturn]] void report_difference(std::size_t size_bytes, const char* where) {
  throw CorruptTransfer("verification failed: " + std::to_string(size_bytes) + " bytes " + where +
                        " a window are not what the driver's own copy brings");
}

}  // namespace

WindowBuffers::WindowBuffers(const Context& context, Windows& windows, std::size_t size_bytes,
                             const WindowPlace& place)
    : context_(context),
      reference_(placed_buffer(size_bytes, place.numa_node)),
      scratch_(placed_buffer(size_bytes, place.numa_node)),
      pinned_(placed_pinned_buffer(context, size_bytes, place.numa_node)),
      device_(context, std::max(size_bytes, kOwnPieceBytes)),
      stream_(context),
      window_(open_window(windows, device_, place.num_threads)) {
  host::fill_pattern(reference_.data(), size_bytes, next_seed());
  std::memcpy(pinned_.data(), reference_.data(), size_bytes);
  restore_device();
}

void WindowBuffers::poison_device() {
  const CurrentContext current(context_);
  context_.driver().call(symbol::memset_d8_async)(device(), kWindowPoison, size_bytes(),
                                                  stream_.handle());
  stream_.synchronize();
}

void WindowBuffers::restore_device() {
  const CurrentContext current(context_);
  context_.driver().call(symbol::memcpy_htod_async)(
      device(), static_cast<const void*>(reference_.data()), size_bytes(), stream_.handle());
  stream_.synchronize();
}

const std::byte* WindowBuffers::device_bytes(std::size_t offset_bytes, std::size_t size_bytes) {
  const CurrentContext current(context_);
  context_.driver().call(symbol::memcpy_dtoh)(static_cast<void*>(scratch_.data()),
                                              device() + offset_bytes, size_bytes);
  return scratch_.data();
}

void WindowBuffers::check_device(std::size_t offset_bytes, const std::byte* expected,
                                 std::size_t size_bytes) {
  if (std::memcmp(device_bytes(offset_bytes, size_bytes), expected, size_bytes) != 0) {
    report_difference(size_bytes, "written through");
  }
}

void WindowBuffers::check_host(const std::byte* brought, std::size_t size_bytes) {
  if (std::memcmp(device_bytes(0, size_bytes), brought, size_bytes) != 0) {
    report_difference(size_bytes, "read through");
  }
}

namespace {

constexpr std::size_t kMaxRegions = 64;
constexpr std::size_t kMaxBytes = std::size_t{16} << 20U;

/// At least a page apart, but not by a multiple of the page size: prefetchers stop at a page's end,
/// and equal offsets would compete for the same cache sets.
std::size_t stride_for(std::size_t size_bytes) {
  return host::round_up(size_bytes, host::kSmallPageBytes) + host::kSmallPageBytes + 64;
}

std::size_t count_for(std::size_t size_bytes, bool cold) {
  if (!cold) return 1;
  return std::clamp(kMaxBytes / stride_for(size_bytes), std::size_t{1}, kMaxRegions);
}

std::size_t checked(std::size_t size_bytes) {
  if (size_bytes == 0) throw UsageError("a copy through a window needs at least 1 byte");
  return size_bytes;
}

}  // namespace

HostRegions::HostRegions(std::size_t size_bytes, bool cold, std::optional<int> numa_node)
    : size_bytes_(checked(size_bytes)),
      stride_bytes_(stride_for(size_bytes)),
      count_(count_for(size_bytes, cold)),
      cold_(cold),
      buffer_(count_ * stride_bytes_) {
  if (cold && host::eviction_instruction().empty()) {
    throw Unavailable("cold CPU caches", "this CPU's programs can't evict cache lines",
                      "an x86-64 or 64-bit Arm CPU");
  }
  std::optional<host::ScopedMemoryPolicy> policy;
  if (numa_node) policy.emplace(*numa_node);
  std::memset(buffer_.data(), 0, buffer_.size_bytes());
}

void HostRegions::fill(const std::byte* bytes) const {
  for (std::size_t i = 0; i < count_; ++i) std::memcpy((*this)[i], bytes, size_bytes_);
}

void HostRegions::fill(unsigned char byte) const {
  for (std::size_t i = 0; i < count_; ++i) std::memset((*this)[i], byte, size_bytes_);
}

void HostRegions::make_ready() const {
  if (!cold_) return;
  for (std::size_t i = 0; i < count_; ++i) host::evict_from_caches((*this)[i], size_bytes_);
}

}  // namespace isthmus::measure
