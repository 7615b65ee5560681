// The two ends of a copy: one host buffer and one device buffer, both holding the test pattern
// between copies; and samples whose bytes are verified.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "device/buffers.hpp"
#include "device/kernels.hpp"
#include "device/link_copies.hpp"
#include "measure/loops/host_buffer.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {

enum class DeviceMemory {
  allocated,  ///< cuMemAlloc (cudaMalloc)
  pool,       ///< cuMemAllocAsync (cudaMallocAsync): the stream-ordered pool of the device
};
constexpr auto words_of(DeviceMemory) { return std::array{"device", "pool"}; }

/// Device memory of the stream-ordered pool. Movable. Freed with cuMemFree, which waits for all
/// work.
class PoolBuffer {
public:
  /// Throws   UsageError (size), Unavailable (no pools here), OutOfDeviceMemory, DriverError.
  PoolBuffer(const Context& context, std::size_t size_bytes);

  CUdeviceptr pointer() const noexcept { return owned_.handle(); }

private:
  Owned<CUdeviceptr> owned_;
};

/// Device memory of either kind. Movable.
class DeviceSide {
public:
  /// Throws   what DeviceBuffer and PoolBuffer throw.
  DeviceSide(const Context& context, DeviceMemory memory, std::size_t size_bytes);

  CUdeviceptr pointer() const noexcept {
    return std::visit([](const auto& held) { return held.pointer(); }, held_);
  }

private:
  std::variant<DeviceBuffer, PoolBuffer> held_;
};

/// The kinds of memory of a pair of buffers.
struct BufferKinds {
  HostMemory host = HostMemory::pinned;
  DeviceMemory device = DeviceMemory::allocated;
  Contents contents = Contents::random;
  /// The offset of a side in its allocation. Allocations begin at a page boundary.
  std::size_t host_offset_bytes = 0;
  std::size_t device_offset_bytes = 0;
  /// The node of the host pages; empty: by the calling thread's policy.
  std::optional<int> numa_node;
};

/// Buffers of one size on both sides of the link.
///
/// A measurement calls prepare() once; then, for every set of samples, poison() before and verify()
/// after: the samples themselves must have copied the contents to the target. Not for use by two
/// threads at once.
class CopyBuffers {
public:
  /// size_bytes   > 0, of each side
  /// Throws       UsageError; OutOfDeviceMemory if either side doesn't fit; Unavailable for kinds
  ///              that don't exist here; std::system_error for host memory.
  CopyBuffers(const Context& context, std::size_t size_bytes, const BufferKinds& kinds);
  CopyBuffers(const Context& context, HostMemory memory, std::size_t size_bytes,
              std::optional<int> numa_node);

  HostMemory host_memory() const noexcept { return host_.memory(); }
  std::byte* host() const noexcept { return host_.data() + host_offset_bytes_; }
  CUdeviceptr device() const noexcept { return device_.pointer() + device_offset_bytes_; }
  /// The address at which kernels see host(). Throws UsageError for pageable memory.
  CUdeviceptr host_on_device() const { return host_.device_pointer(context_) + host_offset_bytes_; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }
  const Context& context() const noexcept { return context_; }

  /// Sampled host pages by NUMA node; empty if the kernel doesn't report them.
  std::map<int, std::size_t> host_pages_by_node() const;

  /// Throws UsageError unless 1 <= size_bytes <= the buffers' size.
  void check_size(std::size_t size_bytes) const;

  /// Writes the contents to both sides unless they hold them already. Waits until it is complete.
  ///
  /// kernels   null: the device side is filled by a copy instead of a kernel
  void prepare(const Kernels* kernels);

  /// Overwrites the first `size_bytes` of the target with other bytes. Waits until it is complete.
  ///
  /// Throws    UsageError if `size_bytes` is 0 or more than the buffers have.
  void poison(Direction direction, std::size_t size_bytes);

  /// Checks the first `size_bytes` of the target against the contents. All copies must be complete.
  ///
  /// Returns   where the comparison ran
  /// Throws    CorruptTransfer if any byte differs.
  VerifiedOn verify(Direction direction, std::size_t size_bytes, const Kernels* kernels);

  /// Must be called before anything else writes to the buffers: the next prepare() then restores
  /// the contents.
  void disturb() noexcept { filled_ = false; }

private:
  std::uint64_t device_mismatches_on_host(std::size_t size_bytes) const;
  std::uint64_t host_mismatches(std::size_t size_bytes) const;
  /// Null if the kernels can't check the device's side.
  const Kernels* fit(const Kernels* kernels) const;

  Context context_;
  HostBuffer host_;
  DeviceSide device_;
  std::size_t host_offset_bytes_;
  std::size_t device_offset_bytes_;
  std::size_t size_bytes_;
  Stream stream_;
  BufferContents contents_;
  bool filled_ = false;  ///< both sides hold all of the contents
};

/// A copy between the first `size_bytes` of both sides, ready to be called in a loop.
///
/// The caller holds a CurrentContext and keeps the buffers.
class Copy {
public:
  Copy(const CopyBuffers& buffers, Direction direction, std::size_t size_bytes);

  /// cuMemcpyHtoD / cuMemcpyDtoH, which cudaMemcpy calls. From pageable memory up to 64 KiB, H2D
  /// may return before the bytes have arrived. Source: CUDA Driver API 13.0, API synchronization
  /// behavior.
  void blocking() const;
  /// cuMemcpyHtoDAsync / cuMemcpyDtoHAsync.
  void enqueue(CUstream stream) const;

private:
  Driver driver_;
  Direction direction_;
  std::byte* host_;
  CUdeviceptr device_;
  std::size_t size_bytes_;
};

/// Enqueues cuMemcpyHtoDAsync or cuMemcpyDtoHAsync. The caller holds a CurrentContext.
inline void enqueue(const Driver& driver, const LinkCopy& copy, CUstream stream) {
  if (copy.to_device) {
    driver.call(symbol::memcpy_htod_async)(copy.device, copy.host, copy.size_bytes, stream);
  } else {
    driver.call(symbol::memcpy_dtoh_async)(copy.host, copy.device, copy.size_bytes, stream);
  }
}

/// Takes sets of samples of copies in one direction, and rejects a set whose bytes did not arrive.
class VerifiedSampling {
public:
  /// kernels   null: verified from the host
  VerifiedSampling(CopyBuffers& buffers, const Kernels* kernels, Direction direction,
                   std::size_t size_bytes, const Stopping& stopping)
      : buffers_(buffers),
        kernels_(kernels),
        direction_(direction),
        size_bytes_(size_bytes),
        stopping_(stopping) {}

  /// Poisons the target, samples `one()`, verifies the target, and adds the samples to
  /// `measurement`.
  ///
  /// If the rule says not to verify, nothing is verified, and the measurement says so.
  ///
  /// one      copies at least once, and returns the seconds for one copy; then all copies are
  ///          complete
  /// Throws   CorruptTransfer, and what `one` throws; then nothing is added.
  template <typename OneSample>
  void add(Measurement& measurement, std::string metric, std::size_t copies_per_sample,
           OneSample one) {
    if (stopping_.verify) buffers_.poison(direction_, size_bytes_);
    Samples samples = sample(stopping_, std::move(metric), copies_per_sample, one);
    measurement.verified_on =
        stopping_.verify ? buffers_.verify(direction_, size_bytes_, kernels_) : VerifiedOn::nobody;
    measurement.samples.push_back(std::move(samples));
  }

private:
  CopyBuffers& buffers_;
  const Kernels* kernels_;
  Direction direction_;
  std::size_t size_bytes_;
  Stopping stopping_;
};

}  // namespace isthmus::measure
