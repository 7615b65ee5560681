// How long one page of managed memory takes to the side that touches it.
#pragma once

#include "device/kernels.hpp"
#include "measure/loops/samples.hpp"

namespace isthmus::measure {

struct PageFaultOptions {
  std::size_t num_pages = 32;  ///< that are touched one after the other; each 2 MiB from the next
  Stopping stopping;
};

/// Follows a chain of pointers through managed memory, one page of each 2 MiB: a device that faults
/// can fetch no neighbour along. Yields two metrics, in seconds for one page:
///
///   device_fault   a kernel follows the chain, which the CPU has just written: device's clock
///   host_fault     then the CPU follows it: CPU's clock
///
/// Both add up what they have read, and are compared.
///
/// kernels   null: Unavailable
/// Throws    UsageError (pages: 2 to 256), Unavailable (no managed memory that faults here, or not
///           so much free), CorruptTransfer, DriverError.
Measurement measure_page_faults(const Context& context, const Kernels* kernels,
                                const PageFaultOptions& options);

/// What a chain of so many pages lies in.
constexpr std::size_t page_fault_bytes(std::size_t num_pages) {
  return num_pages * (std::size_t{2} << 20U);
}

}  // namespace isthmus::measure
