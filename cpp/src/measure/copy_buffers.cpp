#include "measure/copy_buffers.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include <isthmus/errors.hpp>

#include "host/numa.hpp"
#include "host/pattern.hpp"
#include "measure/failures.hpp"

namespace isthmus::measure {
namespace {

constexpr int kPoison = 0xA5;
constexpr std::size_t kReadBackBytes = std::size_t{16} << 20U;
constexpr unsigned kBlockLanes = 256;
constexpr std::uint64_t kSeedStep = 0x9e3779b97f4a7c15ULL;  // SplitMix64's increment

using HostBuffer = std::variant<PinnedBuffer, host::PageableBuffer>;

HostBuffer allocate_host(const Context& context, HostMemory memory, std::size_t size_bytes) {
  if (memory == HostMemory::pinned) return PinnedBuffer(context, size_bytes);
  return host::PageableBuffer(size_bytes);
}

/// Different buffers hold different bytes, so that a copy from the wrong buffer can't pass.
std::uint64_t next_seed() {
  static std::atomic<std::uint64_t> count{0};
  return 0x697374686d7573ULL + ++count * 0x2545f4914f6cdd1dULL;
}

unsigned blocks_for(const Context& context) {
  return 8U * static_cast<unsigned>(std::max(1, context.device().num_multiprocessors));
}

}  // namespace

CopyBuffers::CopyBuffers(const Context& context, HostMemory memory, std::size_t size_bytes,
                         std::optional<int> numa_node)
    : context_(context),
      memory_(memory),
      host_([&] {
        std::optional<host::ScopedMemoryPolicy> policy;
        if (numa_node) policy.emplace(*numa_node);
        HostBuffer buffer = allocate_host(context, memory, size_bytes);
        // Touched under the policy: pageable pages are placed now.
        std::visit([](auto& b) { std::memset(b.data(), kPoison, b.size_bytes()); }, buffer);
        return buffer;
      }()),
      device_(context, size_bytes),
      stream_(context),
      seed_(next_seed()) {}

std::byte* CopyBuffers::host() const noexcept {
  return std::visit([](const auto& buffer) { return buffer.data(); }, host_);
}

std::map<int, std::size_t> CopyBuffers::host_pages_by_node() const {
  return host::pages_by_node(host(), size_bytes());
}

void CopyBuffers::check_size(std::size_t bytes) const {
  if (bytes > 0 && bytes <= size_bytes()) return;
  throw UsageError("copy of " + std::to_string(bytes) + " bytes: the buffers hold 1 to " +
                   std::to_string(size_bytes()));
}

void CopyBuffers::prepare(const Kernels* kernels) {
  if (at_rest_) return;
  const Driver& driver = context_.driver();
  const CurrentContext current(context_);
  host::fill_pattern(host(), size_bytes(), seed_);
  if (kernels != nullptr) {
    const Kernel fill = kernels->get("pattern", "isthmus_pattern_fill");
    fill.launch(stream_.handle(), blocks_for(context_), kBlockLanes, device(),
                static_cast<unsigned long long>(size_bytes()),
                static_cast<unsigned long long>(seed_));
  } else {
    driver.call(symbol::memcpy_htod_async)(device(), host(), size_bytes(), stream_.handle());
  }
  stream_.synchronize();
  at_rest_ = true;
}

void CopyBuffers::poison(Direction direction, std::size_t bytes) {
  check_size(bytes);
  at_rest_ = false;
  if (direction == Direction::device_to_host) {
    std::memset(host(), kPoison, bytes);
    return;
  }
  const CurrentContext current(context_);
  context_.driver().call(symbol::memset_d8_async)(device(), static_cast<unsigned char>(kPoison),
                                                  bytes, stream_.handle());
  stream_.synchronize();
}

VerifiedOn CopyBuffers::verify(Direction direction, std::size_t bytes, const Kernels* kernels) {
  const CurrentContext current(context_);
  const bool to_device = direction == Direction::host_to_device;
  const bool on_device = to_device && kernels != nullptr;
  const std::uint64_t mismatches = on_device ? device_mismatches(bytes, *kernels)
                                   : to_device
                                       ? device_mismatches_on_host(bytes)
                                       : host::count_pattern_mismatches(host(), bytes, seed_);
  if (mismatches != 0) {
    throw CorruptTransfer("verification failed: " + std::to_string(mismatches) + " words of a " +
                          std::to_string(bytes) + "-byte copy from " +
                          (to_device ? "host" : "device") + " to " +
                          (to_device ? "device" : "host") + " are not what was sent");
  }
  at_rest_ = true;
  return on_device ? VerifiedOn::device : VerifiedOn::host;
}

std::uint64_t CopyBuffers::device_mismatches(std::size_t bytes, const Kernels& kernels) const {
  const Driver& driver = context_.driver();
  const DeviceBuffer count(context_, sizeof(std::uint64_t));
  driver.call(symbol::memset_d8_async)(count.pointer(), static_cast<unsigned char>(0),
                                       count.size_bytes(), stream_.handle());
  const Kernel check = kernels.get("pattern", "isthmus_pattern_check");
  check.launch(stream_.handle(), blocks_for(context_), kBlockLanes, device(),
               static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(seed_),
               count.pointer());
  stream_.synchronize();
  std::uint64_t mismatches = 0;
  driver.call(symbol::memcpy_dtoh)(&mismatches, count.pointer(), sizeof mismatches);
  return mismatches;
}

std::uint64_t CopyBuffers::device_mismatches_on_host(std::size_t bytes) const {
  std::vector<std::byte> chunk(std::min(bytes, kReadBackBytes));
  std::uint64_t mismatches = 0;
  for (std::size_t offset = 0; offset < bytes; offset += chunk.size()) {
    const std::size_t chunk_bytes = std::min(chunk.size(), bytes - offset);
    context_.driver().call(symbol::memcpy_dtoh)(chunk.data(), device() + offset, chunk_bytes);
    // SplitMix64 from `seed_` at word k is SplitMix64 from seed_ + k * step at word 0.
    const std::uint64_t seed = seed_ + offset / 8 * kSeedStep;
    mismatches += host::count_pattern_mismatches(chunk.data(), chunk_bytes, seed);
  }
  return mismatches;
}

Copy::Copy(const CopyBuffers& buffers, Direction direction, std::size_t size_bytes)
    : driver_(buffers.context().driver()),
      direction_(direction),
      host_(buffers.host()),
      device_(buffers.device()),
      size_bytes_(size_bytes) {}

void Copy::blocking() const {
  if (direction_ == Direction::host_to_device) {
    driver_.call(symbol::memcpy_htod)(device_, host_, size_bytes_);
  } else {
    driver_.call(symbol::memcpy_dtoh)(host_, device_, size_bytes_);
  }
}

void Copy::enqueue(CUstream stream) const {
  if (direction_ == Direction::host_to_device) {
    driver_.call(symbol::memcpy_htod_async)(device_, host_, size_bytes_, stream);
  } else {
    driver_.call(symbol::memcpy_dtoh_async)(host_, device_, size_bytes_, stream);
  }
}

}  // namespace isthmus::measure
