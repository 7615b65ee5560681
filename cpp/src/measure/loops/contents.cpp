#include "measure/loops/contents.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "device/buffers.hpp"
#include "host/memory/pattern.hpp"

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

}  // namespace isthmus::measure
