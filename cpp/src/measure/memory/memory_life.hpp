// The whole life of a host buffer that is copied from and to: what it costs, next to what it saves.
#pragma once

#include "device/kernels.hpp"
#include "measure/loops/host_buffer.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {

struct MemoryLifeOptions {
  HostMemory memory = HostMemory::pageable;
  std::size_t size_bytes = 0;
  std::optional<int> numa_node;  ///< the node of the host pages
  Stopping stopping;             ///< applies to lives
};

/// Measures lives of host buffers. Each is allocated, written, copied to the device, overwritten,
/// copied back, and freed. Yields these metrics, in seconds by the CPU's clock:
///
///   allocate, free      including all pages
///   life_upload,
///   life_download       one blocking copy, until complete
///   life_one_way        allocate, upload and free
///   life_both_ways      the same and the download
///
/// Each life verifies the bytes of both directions. first_call_seconds is the first upload, which
/// is in no sample: the first life makes a second one. The last life looks up the pages' nodes.
///
/// kernels     null: prepared and verified from the host
/// Throws      UsageError, Unavailable, OutOfDeviceMemory, CorruptTransfer, DriverError.
Measurement measure_memory_life(const Context& context, const Kernels* kernels,
                                const MemoryLifeOptions& options);

}  // namespace isthmus::measure
