// An array's items in two memory layouts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <isthmus/transfer.hpp>

#include "driver/driver.hpp"

namespace isthmus::transfer {

/// 0 for bytes without a type.
constexpr std::size_t bytes_of(ItemType type) noexcept {
  switch (type) {
    case ItemType::bytes:
      return 0;
    case ItemType::boolean:
    case ItemType::int8:
    case ItemType::uint8:
      return 1;
    case ItemType::int16:
    case ItemType::uint16:
    case ItemType::float16:
    case ItemType::bfloat16:
      return 2;
    case ItemType::int32:
    case ItemType::uint32:
    case ItemType::float32:
      return 4;
    case ItemType::int64:
    case ItemType::uint64:
    case ItemType::float64:
      return 8;
  }
  return 0;
}

/// A type of items at each end; the same if nothing is converted.
struct ItemTypes {
  ItemType target = ItemType::bytes;
  ItemType source = ItemType::bytes;
  bool differ() const noexcept { return target != source; }
};

/// One dimension of both layouts; strides in bytes, not 0 in the target.
struct Dimension {
  std::size_t length = 0;
  std::ptrdiff_t target_stride = 0;
  std::ptrdiff_t source_stride = 0;
};

/// Both layouts with as few dimensions as possible; the outermost is the first. Items that aren't
/// words of 1, 2, 4, 8 or 16 bytes are rows of words. If the items are converted, those of the ends
/// may have different sizes.
class Layouts {
public:
  static constexpr std::size_t kMaxDimensions = 8;  ///< of items; the words of an item are one more

  /// Throws      UsageError: strides that don't fit the shape, an empty item, or more dimensions
  ///             than kMaxDimensions remain; a type at one end only.
  explicit Layouts(const StridedCopy& copy);

  const std::vector<Dimension>& dimensions() const noexcept { return dimensions_; }
  const ItemTypes& types() const noexcept { return types_; }
  bool converts() const noexcept { return types_.differ(); }
  std::size_t target_item_bytes() const noexcept { return target_item_bytes_; }
  std::size_t source_item_bytes() const noexcept { return source_item_bytes_; }
  std::size_t num_items() const noexcept;

  /// The bytes that an end spans, and where they begin relative to the first item.
  struct Span {
    std::ptrdiff_t begin = 0;
    std::size_t size_bytes = 0;
  };
  Span target_span() const noexcept {
    return span_of(&Dimension::target_stride, target_item_bytes_);
  }
  Span source_span() const noexcept {
    return span_of(&Dimension::source_stride, source_item_bytes_);
  }
  bool target_is_dense() const noexcept {
    return is_dense(&Dimension::target_stride, target_item_bytes_);
  }
  bool source_is_dense() const noexcept {
    return is_dense(&Dimension::source_stride, source_item_bytes_);
  }

  /// True if the driver can make the copy as rows, or slices of rows.
  bool fits_driver() const noexcept;
  /// The bytes of a row; the innermost items that follow each other at both ends.
  std::size_t row_bytes() const noexcept;

private:
  void add(const Dimension& next);
  void split_item();
  Span span_of(std::ptrdiff_t Dimension::* stride, std::size_t item_bytes) const noexcept;
  bool is_dense(std::ptrdiff_t Dimension::* stride, std::size_t item_bytes) const noexcept;
  bool has_rows() const noexcept;

  std::vector<Dimension> dimensions_;
  ItemTypes types_;
  std::size_t target_item_bytes_;
  std::size_t source_item_bytes_;
};

/// Enqueues a copy that fits_driver().
///
/// Throws      DriverError.
void enqueue_by_driver(const Driver& driver, const Layouts& layouts, const void* target,
                       bool target_on_device, const void* source, bool source_on_device,
                       CUstream stream);

}  // namespace isthmus::transfer
