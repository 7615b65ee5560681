// Copies of rows that don't follow each other on the device: 2-D, pitched.
#pragma once

#include <chrono>

#include "measure/copy_buffers.hpp"
#include "measure/samples.hpp"

namespace isthmus::measure {

/// Rows of device memory begin at multiples of this. Source: what cuMemAllocPitch returns on every
/// GPU so far; CUDA Driver API 13.0, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT is less.
inline constexpr std::size_t kPitchAlignment = 512;

/// The distance of rows on the device, with a gap between them always.
constexpr std::size_t pitch_of(std::size_t row_bytes) {
  return (row_bytes / kPitchAlignment + 1) * kPitchAlignment;
}

struct PitchedCopiesOptions {
  Direction direction = Direction::host_to_device;
  std::size_t row_bytes = 0;
  std::size_t num_rows = 0;
  Stopping stopping;
  std::chrono::duration<double> gate_timeout{15.0};
};

/// Measures cuMemcpy2DAsync between rows that follow each other in host memory and rows with gaps
/// between them on the device. Yields one metric, "copy_time": seconds for all rows.
///
/// buffers   pinned, of row_bytes * num_rows or more; beside them a pitched device buffer is made
/// kernels   null: the pattern is prepared from the host
/// Throws    UsageError (no row, pageable memory, buffers too small), Unavailable (no gate on this
///           device), CorruptTransfer, TimedOut, OutOfDeviceMemory, DriverError.
Measurement measure_pitched_copies(CopyBuffers& buffers, const Kernels* kernels,
                                   const PitchedCopiesOptions& options);

}  // namespace isthmus::measure
