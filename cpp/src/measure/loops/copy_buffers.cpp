#include "measure/loops/copy_buffers.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <isthmus/errors.hpp>

#include "device/stream.hpp"
#include "host/cpu/topology.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

void require_pools(const Context& context) {
  const Driver& driver = context.driver();
  CUdevice device = 0;
  int supported = 0;
  driver.call(symbol::device_get)(&device, context.device().ordinal);
  driver.call(symbol::device_get_attribute)(&supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
                                            device);
  if (supported == 0) {
    throw Unavailable("stream-ordered pool", "this device has no memory pools",
                      "a device and a driver with cudaMallocAsync");
  }
}

/// cuMemFree may free memory of cuMemAllocAsync. Source: CUDA Driver API 13.0, cuMemFree.
Owned<CUdeviceptr> take_from_pool(const Context& context, std::size_t size_bytes) {
  if (size_bytes == 0) throw UsageError("device memory of 0 bytes: give at least 1");
  require_pools(context);
  const CurrentContext current(context);
  const Driver& driver = context.driver();
  const Stream stream(context);
  CUdeviceptr pointer = 0;
  driver.call(symbol::mem_alloc_async)(&pointer, size_bytes, stream.handle());
  Owned<CUdeviceptr> owned(context, pointer, driver.raw(symbol::mem_free), symbol::mem_free.name);
  stream.synchronize();  // from here on every stream may use it
  return owned;
}

std::variant<DeviceBuffer, PoolBuffer> allocate(const Context& context, DeviceMemory memory,
                                                std::size_t size_bytes) {
  if (memory == DeviceMemory::pool) return PoolBuffer(context, size_bytes);
  return DeviceBuffer(context, size_bytes);
}

}  // namespace

PoolBuffer::PoolBuffer(const Context& context, std::size_t size_bytes)
    : owned_(take_from_pool(context, size_bytes)) {}

DeviceSide::DeviceSide(const Context& context, DeviceMemory memory, std::size_t size_bytes)
    : held_(allocate(context, memory, size_bytes)) {}

namespace {

constexpr int kPoison = 0xA5;  // not zero, and a word of the pattern only by chance
constexpr std::size_t kReadBackBytes = std::size_t{16} << 20U;

/// Counts mismatches in chunks that `read(target, offset_bytes, chunk_bytes)` reads, including
/// trailing bytes of the last chunk.
template <typename Read>
std::uint64_t count_in_chunks(const BufferContents& contents, std::size_t size_bytes,
                              const Read& read) {
  std::vector<std::byte> chunk(std::min(size_bytes, kReadBackBytes));
  std::uint64_t mismatches = 0;
  for (std::size_t offset = 0; offset < size_bytes; offset += chunk.size()) {
    const std::size_t chunk_bytes = std::min(chunk.size(), size_bytes - offset);
    read(chunk.data(), offset, chunk_bytes);
    mismatches += contents.count_mismatches(chunk.data(), offset, chunk_bytes);
  }
  return mismatches;
}

}  // namespace

CopyBuffers::CopyBuffers(const Context& context, std::size_t size_bytes, const BufferKinds& kinds)
    : context_(context),
      host_(context, kinds.host, size_bytes + kinds.host_offset_bytes, kinds.numa_node),
      device_(context, kinds.device, size_bytes + kinds.device_offset_bytes),
      host_offset_bytes_(kinds.host_offset_bytes),
      device_offset_bytes_(kinds.device_offset_bytes),
      size_bytes_(size_bytes),
      stream_(context),
      contents_(kinds.contents) {
  if (size_bytes == 0) throw UsageError("buffers of 0 bytes: give at least 1");
}

CopyBuffers::CopyBuffers(const Context& context, HostMemory memory, std::size_t size_bytes,
                         std::optional<int> numa_node)
    : CopyBuffers(context, size_bytes, [&] {
        BufferKinds kinds;
        kinds.host = memory;
        kinds.numa_node = numa_node;
        return kinds;
      }()) {}

std::map<int, std::size_t> CopyBuffers::host_pages_by_node() const {
  return host::pages_by_node(host(), size_bytes());
}

void CopyBuffers::check_size(std::size_t bytes) const {
  if (bytes > 0 && bytes <= size_bytes()) return;
  throw UsageError("copy of " + std::to_string(bytes) + " bytes: the buffers hold 1 to " +
                   std::to_string(size_bytes()));
}

const Kernels* CopyBuffers::fit(const Kernels* kernels) const {
  return contents_.kernels_can_check(device()) ? kernels : nullptr;
}

void CopyBuffers::prepare(const Kernels* kernels) {
  if (filled_) return;
  const CurrentContext current(context_);
  contents_.fill(host(), size_bytes());
  if (fit(kernels) != nullptr) {
    contents_.fill_by_kernel(*kernels, stream_, device(), size_bytes());
  } else {
    context_.driver().call(symbol::memcpy_htod_async)(device(), host(), size_bytes(),
                                                      stream_.handle());
  }
  stream_.synchronize();
  filled_ = true;
}

void CopyBuffers::poison(Direction direction, std::size_t bytes) {
  check_size(bytes);
  filled_ = false;
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
  const bool on_device = to_device && fit(kernels) != nullptr;
  const std::uint64_t mismatches =
      on_device   ? contents_.count_by_kernel(*kernels, stream_, device(), bytes)
      : to_device ? device_mismatches_on_host(bytes)
                  : host_mismatches(bytes);
  if (mismatches != 0) {
    throw CorruptTransfer("verification failed: " + std::to_string(mismatches) + " words of a " +
                          std::to_string(bytes) + "-byte copy from " +
                          (to_device ? "host" : "device") + " to " +
                          (to_device ? "device" : "host") + " are not what was sent");
  }
  filled_ = true;
  return on_device ? VerifiedOn::device : VerifiedOn::host;
}

std::uint64_t CopyBuffers::device_mismatches_on_host(std::size_t bytes) const {
  const auto read = context_.driver().call(symbol::memcpy_dtoh);
  return count_in_chunks(contents_, bytes,
                         [&](std::byte* chunk, std::size_t offset, std::size_t chunk_bytes) {
                           read(chunk, device() + offset, chunk_bytes);
                         });
}

std::uint64_t CopyBuffers::host_mismatches(std::size_t bytes) const {
  // Comparing in place would load write-combined memory word by word, at about 100 MB/s.
  if (host_.memory() != HostMemory::write_combined)
    return contents_.count_mismatches(host(), 0, bytes);
  return count_in_chunks(contents_, bytes,
                         [&](std::byte* chunk, std::size_t offset, std::size_t chunk_bytes) {
                           host_.read(chunk, host_offset_bytes_ + offset, chunk_bytes);
                         });
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
