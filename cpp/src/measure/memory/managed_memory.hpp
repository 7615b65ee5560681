// The speed of managed memory across the link: moved on demand, prefetched, or accessed in place;
// and the latency of one fault on it, on either side.
#pragma once

#include <array>
#include <vector>

#include "device/buffers.hpp"
#include "device/kernels.hpp"
#include "device/owned.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {

/// More has crashed whole machines, and no driver frees it quickly.
inline constexpr std::size_t kMaxManagedBytes = std::size_t{512} << 20U;

/// Managed memory from cuMemAllocManaged. Movable.
class ManagedAllocation {
public:
  /// Throws   UsageError (none, or more than kMaxManagedBytes); Unavailable if the device has no
  ///          managed memory, or not enough free memory; DriverError.
  ManagedAllocation(const Context& context, std::size_t size_bytes);

  CUdeviceptr device() const noexcept { return owned_.handle(); }
  /// Its address is the same on both sides.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  std::byte* host() const noexcept { return reinterpret_cast<std::byte*>(owned_.handle()); }
  std::size_t size_bytes() const noexcept { return size_bytes_; }

private:
  Owned<CUdeviceptr> owned_;
  std::size_t size_bytes_;
};

/// device      its ordinal, or CU_DEVICE_CPU
CUmemLocation location_of(int device) noexcept;

/// Throws Unavailable unless CPU and device may use managed memory at the same time: without that
/// there are no faults, prefetches or advice.
void require_concurrent_access(const Context& context);

/// Device memory that leaves only so much of it free while it lives.
class FilledDevice {
public:
  /// free_bytes   what is left, to 2 MiB
  /// Throws   Unavailable if the device has less free now, or its memory can't be filled so far.
  FilledDevice(const Context& context, std::size_t free_bytes);

private:
  void fill(const Context& context);

  std::vector<DeviceBuffer> buffers_;
};

enum class ManagedWay {
  demand,  ///< pages move when the other side touches them
  /// The same, but a kernel touches one page after the other in a random order, each once. Only to
  /// the device.
  demand_random,
  /// Like `demand`, but the device has room for half of it: what was read is evicted for what comes,
  /// and what is read again has to come again. Only to the device. Meanwhile all other memory of
  /// the device is allocated.
  thrashing,
  thrashing_random,  ///< the same, and read like `demand_random`
  prefetched,        ///< cuMemPrefetchAsync (cudaMemPrefetchAsync) moves them
  /// Preferred location on the host, accessed by the device (cudaMemAdvise): pages stay, and
  /// kernels access them over the link.
  advised,
};
constexpr auto words_of(ManagedWay) {
  return std::array{"demand",           "demand_random", "thrashing",
                    "thrashing_random", "prefetched",    "advised"};
}

/// Less can't be halved by the blocks of 2 MiB that a driver evicts.
inline constexpr std::size_t kMinThrashingBytes = std::size_t{16} << 20U;

struct ManagedOptions {
  Direction direction = Direction::host_to_device;
  ManagedWay way = ManagedWay::demand;
  std::size_t size_bytes = 0;
  Stopping stopping;
};

/// Measures one size in one direction. Yields one metric, "copy_time": seconds by the CPU's clock
/// until the target side has accessed all bytes.
///
///                  host to device               device to host
///   demand         a kernel reads all of it     the CPU loads from each page of 4 KiB
///   demand_random  a kernel reads all of it, its pages of 4 KiB in a random order
///   thrashing      a kernel reads all of it again, in order or in a random order, right after
///                  another has read it in the same order
///   prefetched     the prefetch and its wait    the same
///   advised        a kernel reads all of it     a kernel writes all of it
///
/// Every sample begins with new bytes, written by the source side, and ends with their comparison
/// by the target side, which isn't timed (a kernel that reads compares as it goes). The driver is
/// asked whether a prefetch really was requested.
///
/// kernels   null: Unavailable
/// Throws    UsageError (size, or reads by kernels to the host), Unavailable (no managed memory here,
///           or not so much free), CorruptTransfer, DriverError.
Measurement measure_managed(const Context& context, const Kernels* kernels,
                            const ManagedOptions& options);

struct PageFaultOptions {
  std::size_t num_pages = 32;  ///< touched one after the other; 2 MiB apart
  Stopping stopping;
};

/// Follows a chain of pointers through managed memory, one page in each 2 MiB: a fault of the
/// device can't bring a neighbouring page. Yields two metrics, in seconds for one page:
///
///   device_fault   a kernel follows the chain, which the CPU has just written: device's clock
///   host_fault     then the CPU follows it: CPU's clock
///
/// The sum that each side has read is verified.
///
/// kernels   null: Unavailable
/// Throws    UsageError (pages: 2 to 256), Unavailable (no managed memory with faults here, or not
///           enough free), CorruptTransfer, DriverError.
Measurement measure_page_faults(const Context& context, const Kernels* kernels,
                                const PageFaultOptions& options);

/// The size of the memory of such a chain.
constexpr std::size_t page_fault_bytes(std::size_t num_pages) {
  return num_pages * (std::size_t{2} << 20U);
}

}  // namespace isthmus::measure
