// The latency of one fault on managed memory, on either side.
#pragma once

#include "device/kernels.hpp"
#include "measure/loops/samples.hpp"

namespace isthmus::measure {

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
