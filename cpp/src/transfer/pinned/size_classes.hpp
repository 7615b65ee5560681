// The block sizes of a pool: eight between a power of two and the next, so that rounding up wastes
// at most an eighth.
#pragma once

#include <bit>
#include <cstddef>

namespace isthmus::transfer {

/// A cache line: blocks of different threads never share one.
inline constexpr std::size_t kGranuleBytes = 64;
/// Up to this size the classes are the multiples of a granule.
inline constexpr std::size_t kLinearBytes = 512;
inline constexpr std::size_t kNumClasses = 8 + 8 * 55;  ///< up to 2^64 bytes

/// The distance between classes around a size: the power of two below it, over eight.
constexpr std::size_t class_step_bytes(std::size_t size_bytes) noexcept {
  return size_bytes <= kLinearBytes ? kGranuleBytes : std::bit_floor(size_bytes - 1) / 8;
}

/// The smallest class that holds `size_bytes`, which is > 0 and at most 2^62.
constexpr std::size_t class_bytes(std::size_t size_bytes) noexcept {
  const std::size_t step_bytes = class_step_bytes(size_bytes);
  return (size_bytes + step_bytes - 1) / step_bytes * step_bytes;
}

/// The number of the largest class that is at most `size_bytes`, a multiple of a granule.
constexpr std::size_t class_index(std::size_t size_bytes) noexcept {
  if (size_bytes < kLinearBytes) return size_bytes / kGranuleBytes;
  const auto power = static_cast<std::size_t>(std::bit_width(size_bytes)) - 1;
  const std::size_t eighth = (size_bytes >> (power - 3)) & 7U;
  return 8 + 8 * (power - 9) + eighth;
}

}  // namespace isthmus::transfer
