// The speed of managed memory across the link: moved on demand, prefetched, or accessed in place.
#pragma once

#include <array>

#include "device/buffers.hpp"
#include "device/kernels.hpp"
#include "measure/loops/samples.hpp"
#include "measure/memory/managed_allocation.hpp"

namespace isthmus::measure {

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

}  // namespace isthmus::measure
