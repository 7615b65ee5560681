// The latency of a load that a multiprocessor makes across the link.
#pragma once

#include <array>
#include <optional>

#include "device/buffers.hpp"
#include "device/kernels.hpp"
#include "measure/loops/samples.hpp"

namespace isthmus::measure {

enum class ChaseOrder {
  strided,  ///< one line after the other, as in nvbandwidth's host_device_latency_sm
  random,   ///< in random order: every load may need its own address translation
};
constexpr auto words_of(ChaseOrder) { return std::array{"strided", "random"}; }

struct PointerChaseOptions {
  std::size_t size_bytes = std::size_t{2} << 20U;  ///< of the memory that the chain visits
  ChaseOrder order = ChaseOrder::strided;
  std::optional<int> numa_node;  ///< the memory's node; empty: by the calling thread's policy
  Stopping stopping;
};

/// Follows a chain of pointers through pinned host memory from a kernel. Yields one metric,
/// "access_latency": seconds for one load, by the device's clock. A sample is one round through the
/// whole chain, with one load from each line of 128 bytes; the sum of its links is verified.
///
/// kernels   null: Unavailable
/// Throws    UsageError (fewer than 16 lines), Unavailable, CorruptTransfer, DriverError.
Measurement measure_pointer_chase(const Context& context, const Kernels* kernels,
                                  const PointerChaseOptions& options);

}  // namespace isthmus::measure
