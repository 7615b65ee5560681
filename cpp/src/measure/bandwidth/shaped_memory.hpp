// Device memory with a shape (pitched or an array), and boxes to copy in and out.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "device/context.hpp"

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

}  // namespace isthmus::measure
