#include "measure/loops/host_buffer.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include <isthmus/errors.hpp>

#include "device/buffers.hpp"
#include "host/cpu/topology.hpp"
#include "host/memory/memory_limits.hpp"
#include "host/memory/pages.hpp"
#include "host/memory/pattern.hpp"
#include "window/copies/streaming_copy.hpp"

namespace isthmus::measure {
namespace {

constexpr unsigned kBlockLanes = 256;
constexpr std::size_t kWordBytes = 8;
constexpr std::uint64_t kChecked = std::uint64_t{1} << 62U;  // as in kernels/pattern.cuh
constexpr std::uint64_t kSeedStep = 0x9e3779b97f4a7c15ULL;   // SplitMix64's increment

std::uint64_t next_seed() {
  static std::atomic<std::uint64_t> count{0};
  return 0x697374686d7573ULL + ++count * 0x2545f4914f6cdd1dULL;
}

unsigned blocks_for(const Context& context) {
  return 8U * static_cast<unsigned>(std::max(1, context.device().num_multiprocessors));
}

std::uint64_t count_nonzero(const std::byte* source, std::size_t size_bytes) {
  return size_bytes -
         static_cast<std::uint64_t>(std::count(source, source + size_bytes, std::byte{0}));
}

}  // namespace

BufferContents::BufferContents(Contents kind) : kind_(kind), seed_(next_seed()) {}

void BufferContents::fill(std::byte* target, std::size_t size_bytes,
                          host::FilledBy filled_by) const {
  if (kind_ == Contents::zeros) {
    std::memset(target, 0, size_bytes);
  } else {
    host::fill_pattern(target, size_bytes, seed_, filled_by);
  }
}

std::uint64_t BufferContents::count_mismatches(const std::byte* source, std::size_t offset_bytes,
                                               std::size_t size_bytes) const {
  if (kind_ == Contents::zeros) return count_nonzero(source, size_bytes);
  // SplitMix64 from `seed_` at word k is SplitMix64 from seed_ + k * step at word 0.
  const std::uint64_t seed = seed_ + offset_bytes / kWordBytes * kSeedStep;
  return host::count_pattern_mismatches(source, size_bytes, seed);
}

void BufferContents::fill_by_kernel(const Kernels& kernels, const Stream& stream,
                                    CUdeviceptr target, std::size_t size_bytes) const {
  const Kernel fill = kernels.get("pattern", "isthmus_pattern_fill");
  fill.launch(stream.handle(), blocks_for(stream.context()), kBlockLanes, target,
              static_cast<unsigned long long>(size_bytes), static_cast<unsigned long long>(seed_));
}

void BufferContents::check_by_kernel(const Kernels& kernels, const Stream& stream,
                                     CUdeviceptr source, std::size_t size_bytes,
                                     CUdeviceptr verdict, ReadOrder order) const {
  const Kernel check =
      kernels.get("pattern", order == ReadOrder::forward ? "isthmus_pattern_verify"
                                                         : "isthmus_pattern_verify_pages");
  check.launch(stream.handle(), blocks_for(stream.context()), kBlockLanes, source,
               static_cast<unsigned long long>(size_bytes), static_cast<unsigned long long>(seed_),
               verdict);
}

std::uint64_t BufferContents::mismatches_of(std::uint64_t verdict) noexcept {
  return verdict >= kChecked ? verdict - kChecked : kChecked;
}

std::uint64_t BufferContents::count_by_kernel(const Kernels& kernels, const Stream& stream,
                                              CUdeviceptr source, std::size_t size_bytes) const {
  const Context& context = stream.context();
  const Driver& driver = context.driver();
  const DeviceBuffer verdict(context, sizeof(std::uint64_t));
  driver.call(symbol::memset_d8_async)(verdict.pointer(), static_cast<unsigned char>(0),
                                       verdict.size_bytes(), stream.handle());
  check_by_kernel(kernels, stream, source, size_bytes, verdict.pointer());
  stream.synchronize();
  std::uint64_t found = 0;
  driver.call(symbol::memcpy_dtoh)(&found, verdict.pointer(), sizeof found);
  return mismatches_of(found);
}

namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20U;
// A region of only one huge page can't report whether it is one.
constexpr std::size_t kMinHugeBytes = 2 * kHugePageBytes;
constexpr unsigned kRegisterFlags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;

Owned<void*> register_pages(const Context& context, const host::PageableBuffer& pages) {
  std::memset(pages.data(), 0, pages.size_bytes());
  const CurrentContext current(context);
  const Driver& driver = context.driver();
  (void)driver.call(symbol::mem_host_unregister);  // throws if it doesn't exist
  driver.call(symbol::mem_host_register)(static_cast<void*>(pages.data()), pages.size_bytes(),
                                         kRegisterFlags);
  return {context, pages.data(), driver.raw(symbol::mem_host_unregister),
          symbol::mem_host_unregister.name};
}

transfer::PinnedRegion pin_huge_pages(const Context& context, std::size_t size_bytes,
                                      std::optional<int> numa_node) {
  if (size_bytes == 0) throw UsageError("pinned memory of 0 bytes: give at least 1");
  PinOptions options;
  if (numa_node) options.numa_node = *numa_node;
  const std::size_t whole_bytes =
      host::round_up(std::max(size_bytes, kMinHugeBytes), kHugePageBytes);
  // A driver's copy must not cross from one piece to the next.
  options.max_piece_bytes = whole_bytes;
  transfer::PinnedRegion region(context, whole_bytes, options);
  if (!region.costs().huge_pages) {
    throw Unavailable("pinned huge pages",
                      "the kernel gave small ones: transparent huge pages are '" +
                          host::huge_pages().transparent + "'",
                      "\"madvise\" or \"always\" in /sys/kernel/mm/transparent_hugepage/enabled, "
                      "and memory in one piece");
  }
  return region;
}

}  // namespace

const char* name_of(HostMemory memory) noexcept {
  switch (memory) {
    case HostMemory::pinned:
      return "pinned";
    case HostMemory::pageable:
      return "pageable";
    case HostMemory::registered:
      return "registered";
    case HostMemory::write_combined:
      return "write-combined";
    case HostMemory::huge_pinned:
      return "pinned huge pages";
  }
  return "";
}

RegisteredBuffer::RegisteredBuffer(const Context& context, std::size_t size_bytes)
    : pages_(size_bytes), registration_(register_pages(context, pages_)) {}

HostBuffer::Held HostBuffer::allocate(const Context& context, HostMemory memory,
                                      std::size_t size_bytes, std::optional<int> numa_node) {
  std::optional<host::ScopedMemoryPolicy> policy;
  if (numa_node) policy.emplace(*numa_node);
  switch (memory) {
    case HostMemory::pageable: {
      host::PageableBuffer pages(size_bytes);
      std::memset(pages.data(), 0, size_bytes);  // places the pages, under the policy
      return pages;
    }
    case HostMemory::registered:
      return RegisteredBuffer(context, size_bytes);
    case HostMemory::write_combined:
      return PinnedBuffer(context, size_bytes, HostCaching::write_combined);
    case HostMemory::huge_pinned:
      return pin_huge_pages(context, size_bytes, numa_node);
    default:
      return PinnedBuffer(context, size_bytes);
  }
}

HostBuffer::HostBuffer(const Context& context, HostMemory memory, std::size_t size_bytes,
                       std::optional<int> numa_node)
    : memory_(memory), held_(allocate(context, memory, size_bytes, numa_node)) {}

std::byte* HostBuffer::data() const noexcept {
  return std::visit([](const auto& held) { return held.data(); }, held_);
}

void HostBuffer::read(std::byte* target, std::size_t offset_bytes, std::size_t size_bytes) const {
  if (memory_ == HostMemory::write_combined) {
    window::best_streaming_copy().read(target, data() + offset_bytes, size_bytes);
  } else {
    std::memcpy(target, data() + offset_bytes, size_bytes);
  }
}

CUdeviceptr HostBuffer::device_pointer(const Context& context) const {
  if (memory_ == HostMemory::pageable)
    throw UsageError("pageable memory has no address on the device");
  const CurrentContext current(context);
  CUdeviceptr pointer = 0;
  context.driver().call(symbol::mem_host_get_device_pointer)(&pointer, static_cast<void*>(data()),
                                                             0U);
  return pointer;
}

}  // namespace isthmus::measure
