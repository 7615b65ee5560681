// Copies of boxes whose rows aren't contiguous on the device (2-D, 3-D, and arrays), and the memory
// that has such a shape.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>

#include "device/context.hpp"
#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {

/// Rows of device memory begin at multiples of this. Source: what cuMemAllocPitch returned on every
/// GPU so far; CUDA Driver API 13.0: CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT is smaller.
inline constexpr std::size_t kPitchAlignment = 512;

/// The element size of arrays, our choice. A row in an array is a whole number of elements.
inline constexpr std::size_t kElementBytes = 4;

/// The distance between rows on the device; there is always a gap between them.
constexpr std::size_t pitch_of(std::size_t row_bytes) {
  return (row_bytes / kPitchAlignment + 1) * kPitchAlignment;
}

/// Rows, in bytes.
struct BoxShape {
  std::size_t row_bytes = 0;
  std::size_t num_rows = 0;               ///< in one slice
  std::optional<std::size_t> num_slices;  ///< empty: 2-D

  bool is_3d() const noexcept { return num_slices.has_value(); }
  std::size_t num_all_rows() const noexcept { return num_rows * num_slices.value_or(1); }
  std::size_t size_bytes() const noexcept { return row_bytes * num_all_rows(); }
};

/// One end of a copy, in the words of CUDA_MEMCPY3D.
struct BoxEnd {
  CUmemorytype memory = CU_MEMORYTYPE_HOST;
  void* host = nullptr;
  CUdeviceptr device = 0;
  CUarray array = nullptr;
  std::size_t pitch_bytes = 0;  ///< from row to row; unused for an array
  std::size_t num_rows = 0;     ///< from slice to slice; unused for an array
};

/// A box whose rows and slices are contiguous.
BoxEnd packed_on_host(void* host, const BoxShape& shape) noexcept;

CUDA_MEMCPY3D box_copy(const BoxEnd& target, const BoxEnd& source, const BoxShape& shape) noexcept;

enum class BoxLayout {
  pitched,  ///< rows with gaps between them, and in 3-D an unused row between slices
  array,    ///< cuArrayCreate or cuArray3DCreate: the driver's layout, without an address
};
constexpr auto words_of(BoxLayout) { return std::array{"pitched", "array"}; }

/// Memory of a device that holds one box.
///
/// Everything except end() uses blocking copies of the whole memory, or of whole arrays from
/// pageable memory: other ways than the measured ones. The caller holds a CurrentContext.
class ShapedMemory {
public:
  virtual ~ShapedMemory() = default;
  ShapedMemory(const ShapedMemory&) = delete;
  ShapedMemory& operator=(const ShapedMemory&) = delete;

  virtual BoxEnd end() const noexcept = 0;

  /// Writes contiguous rows, and poison into the gaps. Waits until it is complete.
  ///
  /// rows   null: poison everywhere
  virtual void fill(const std::byte* rows) = 0;

  /// Counts rows that differ from `rows`, or whose gap behind them is no longer poison.
  virtual std::size_t num_wrong_rows(const std::byte* rows) = 0;

protected:
  ShapedMemory() = default;
};

/// Throws   UsageError if an array's rows aren't whole elements; OutOfDeviceMemory; DriverError for
///          an array of more rows than the device supports; Unavailable.
std::unique_ptr<ShapedMemory> make_shaped_memory(const Context& context, BoxLayout layout,
                                                 const BoxShape& shape);

/// Copies a box between the beginning of a host buffer, where rows are contiguous, and device
/// memory that this object owns. Use it like CopyBuffers: prepare() those, poison() this, copy,
/// verify() this. The caller holds a CurrentContext.
class BoxCopy {
public:
  /// buffers   prepared, pinned, as large as the box or larger; must stay
  /// Throws    UsageError, OutOfDeviceMemory, Unavailable, DriverError.
  BoxCopy(CopyBuffers& buffers, Direction direction, BoxLayout layout, const BoxShape& shape);

  /// Calls cuMemcpy2DAsync, or cuMemcpy3DAsync for a 3-D box.
  void enqueue(CUstream stream) const;

  /// Overwrites the target, and fills the gaps with poison that no copy sends. Waits until it is
  /// complete.
  void poison();

  /// All copies must be complete. Throws CorruptTransfer.
  void verify();

  BoxEnd device_end() const noexcept { return memory_->end(); }

private:
  CopyBuffers& buffers_;
  Driver driver_;
  Direction direction_;
  BoxShape shape_;
  std::unique_ptr<ShapedMemory> memory_;
  CUDA_MEMCPY3D copy_;
};

struct ShapedCopiesOptions {
  Direction direction = Direction::host_to_device;
  BoxLayout layout = BoxLayout::pitched;
  BoxShape shape;
  Stopping stopping;
  std::chrono::duration<double> gate_timeout{15.0};
};

/// Measures cuMemcpy2DAsync, or cuMemcpy3DAsync for a 3-D box, between contiguous rows in host
/// memory and rows with gaps between them on the device, or an array. Yields one metric,
/// "copy_time": seconds for all rows.
///
/// buffers   pinned, at least as large as the box; the shaped memory is allocated besides
/// kernels   null: the pattern is prepared from the host
/// Throws    UsageError (no row, pageable memory, buffers too small, parts of elements),
///           Unavailable (no gate on this device), CorruptTransfer, TimedOut, OutOfDeviceMemory,
///           DriverError.
Measurement measure_shaped_copies(CopyBuffers& buffers, const Kernels* kernels,
                                  const ShapedCopiesOptions& options);

}  // namespace isthmus::measure
