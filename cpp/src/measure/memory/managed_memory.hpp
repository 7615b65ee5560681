// How fast managed memory gets across the link: when it is touched, when it is asked to, and when
// it stays where it is.
#pragma once

#include "device/buffers.hpp"
#include "device/kernels.hpp"
#include "measure/loops/samples.hpp"
#include "measure/memory/managed_allocation.hpp"

namespace isthmus::measure {

enum class ManagedWay {
  demand,      ///< pages move when the other side touches them
  prefetched,  ///< cuMemPrefetchAsync (cudaMemPrefetchAsync) moves them
  /// Preferred location on the host, accessed by the device (cudaMemAdvise): pages stay, and
  /// kernels reach across the link.
  advised,
};

struct ManagedOptions {
  Direction direction = Direction::host_to_device;
  ManagedWay way = ManagedWay::demand;
  std::size_t size_bytes = 0;
  Stopping stopping;
};

/// Measures one size in one direction. Yields one metric, "copy_time": seconds by the CPU's clock
/// until all bytes have been reached by the side that wants them.
///
///             host to device                      device to host
///   demand    a kernel reads all of it            the CPU loads from each page of 4 KiB
///   prefetched  the prefetch and its wait         the same
///   advised   a kernel reads all of it            a kernel writes all of it
///
/// Every sample begins with new bytes written by the side that has them, and ends with all of them
/// compared by the other, outside the time (a kernel that reads compares as it goes). That a
/// prefetch was asked for at all is read back from the driver.
///
/// kernels   null: Unavailable
/// Throws    UsageError (size), Unavailable (no managed memory here, or not so much free),
///           CorruptTransfer, DriverError.
Measurement measure_managed(const Context& context, const Kernels* kernels,
                            const ManagedOptions& options);

}  // namespace isthmus::measure
