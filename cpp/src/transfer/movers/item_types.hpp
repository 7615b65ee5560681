// Types of items that a copy converts.
#pragma once

#include <cstddef>
#include <cstdint>

#include <isthmus/transfer.hpp>

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

/// What kernels/convert.cu calls the type.
constexpr std::uint32_t number_of(ItemType type) noexcept {
  return static_cast<std::uint32_t>(type);
}

/// A type of items at each end; the same if nothing is converted.
struct ItemTypes {
  ItemType target = ItemType::bytes;
  ItemType source = ItemType::bytes;
  bool differ() const noexcept { return target != source; }
};

}  // namespace isthmus::transfer
