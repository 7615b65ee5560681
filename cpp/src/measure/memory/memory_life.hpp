// The whole life of host memory that is copied from and to: what it costs to have it, beside what
// it saves.
#pragma once

#include "device/kernels.hpp"
#include "measure/loops/host_buffer.hpp"
#include "measure/loops/samples.hpp"

namespace isthmus::measure {

struct MemoryLifeOptions {
  HostMemory memory = HostMemory::pageable;
  std::size_t size_bytes = 0;
  std::size_t num_copies = 1;    ///< in each direction, in one life
  std::optional<int> numa_node;  ///< where the host pages shall lie
  Stopping stopping;             ///< of lives
};

/// Measures lives of host buffers, each allocated anew: its bytes are written, copied to the
/// device, overwritten, copied back, and it is freed. Yields these metrics, in seconds by the CPU
/// clock:
///
///   allocate, free      with all pages there
///   life_upload,
///   life_download       one blocking copy, waited for; `num_copies` samples for each life
///   life_one_way        allocate, the first upload and free
///   life_both_ways      the same and the first download
///
/// Each life verifies both directions' bytes. first_call_seconds is the first upload, which no
/// sample contains. Pages are looked for in the last life.
///
/// kernels     null: prepared and verified from the host
/// Throws      UsageError, Unavailable, OutOfDeviceMemory, CorruptTransfer, DriverError.
Measurement measure_memory_life(const Context& context, const Kernels* kernels,
                                const MemoryLifeOptions& options);

}  // namespace isthmus::measure
