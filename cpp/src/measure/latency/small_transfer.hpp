// What a transfer of a few bytes costs a program that launches kernels: three experiments.
#pragma once

#include <optional>

#include "device/kernels.hpp"
#include "measure/loops/samples.hpp"

namespace isthmus::measure {

/// Whose clock times a whole loop.
enum class LoopClock { host, device };

struct SmallTransferOptions {
  std::size_t size_bytes = 4;        ///< a multiple of 4
  std::size_t num_iterations = 100;  ///< of one run
  std::optional<int> numa_node;      ///< of the host's memory; empty: where it happens to be
  /// Of runs: a sample is a run. `relative_iqr` 0 takes them all.
  Stopping stopping;
};

/// Measures "a kernel sets a value, a copy brings it home" over and over, in two ways. Yields, a
/// sample for each run:
///
///   blocking             seconds for one iteration: kernel, then cuMemcpyDtoH (cudaMemcpy) into
///                        ordinary memory, on the legacy default stream
///   async                the same: kernel, then cuMemcpyDtoHAsync into pinned memory, on one
///                        stream, which is waited for once, after the last iteration
///   async_over_blocking  how many times the latter is the former, of each pair of runs; no seconds
///
/// Iteration i brings the value i, to a place of its own where copies aren't waited for. Their sum
/// is compared with num_iterations * (num_iterations - 1) / 2 (4950 for 100), and the rest of what
/// the last copy brought with what the device held.
///
/// clock     host: around all iterations of a run and the last wait. device: between two events
///           around them
/// kernels   null: Unavailable
/// Throws    UsageError (size, iterations), Unavailable, CorruptTransfer, DriverError.
Measurement measure_kernel_then_copy(const Context& context, const Kernels* kernels,
                                     LoopClock clock, const SmallTransferOptions& options);

/// Measures upload, light kernel, download, over and over on one stream in pinned memory; the end
/// of the kernel is waited for, and so is each copy. Only the copies are timed, each between two
/// events. Yields, a sample for each run:
///
///   upload               seconds for one cuMemcpyHtoDAsync
///   download             seconds for one cuMemcpyDtoHAsync
///   both_ways            their sum
///   download_over_upload how many times the former is the latter; no seconds
///
/// Iteration i sends the value ~i, the kernel turns its bits over, and i must come back: their sum
/// is compared (499500 for 1000), and the rest of the bytes with those sent.
///
/// kernels   null: Unavailable
/// Throws    as measure_kernel_then_copy.
Measurement measure_copy_kernel_copy(const Context& context, const Kernels* kernels,
                                     const SmallTransferOptions& options);

}  // namespace isthmus::measure
