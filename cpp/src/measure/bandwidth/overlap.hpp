// Copies overlapped with computation: how close the time of a pipeline of both comes to the longer
// of the two.
#pragma once

#include <array>
#include <chrono>

#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {

/// Which copies a pipeline makes around its kernels.
enum class PipelineCopies {
  up,      ///< each chunk is copied to the device, then processed
  down,    ///< each chunk is processed, then copied to the host
  duplex,  ///< both
};
constexpr auto words_of(PipelineCopies) { return std::array{"h2d", "d2h", "duplex"}; }

struct OverlapOptions {
  PipelineCopies copies = PipelineCopies::up;
  std::size_t size_bytes = 0;  ///< a multiple of 16 * num_chunks
  std::size_t num_chunks = 1;
  /// Chunks take turns in these. Each stream has its own chunk of device memory, so 2 of them are
  /// double buffering: copy(n + 1) beside kernel(n). With 1 nothing overlaps.
  std::size_t num_streams = 2;
  Stopping stopping;  ///< for all metrics together, by the noise of the pipeline
  std::chrono::duration<double> gate_timeout{15.0};
};

/// Measures a pipeline, and its halves alone, by the device's clock behind a gate. Yields these
/// metrics, in seconds for all chunks:
///
///   copy_alone      the copies without the kernels, in the same streams
///   compute_alone   the kernels without the copies
///   together        the pipeline
///
/// Kernels run one after the other, like kernels that fill a device, and last as long as the
/// copies: that is where overlap matters most. Each kernel reads the bytes that were copied, so
/// verification finds a pipeline in the wrong order. The three are sampled in turns, the pipeline
/// last; its bytes are verified at the end.
///
/// buffers   pinned, of size_bytes or more
/// kernels   null: Unavailable
/// Throws    UsageError (sizes, no stream, pageable memory), Unavailable (no kernels, no gate on
///           this device), CorruptTransfer, TimedOut, OutOfDeviceMemory, DriverError.
Measurement measure_overlap(CopyBuffers& buffers, const Kernels* kernels,
                            const OverlapOptions& options);

}  // namespace isthmus::measure
