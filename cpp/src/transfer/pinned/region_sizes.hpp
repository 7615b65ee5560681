// The sizes of pool regions that hold one block.
#pragma once

#include <cstddef>

#include "host/memory/first_touch.hpp"
#include "host/memory/pages.hpp"

namespace isthmus::transfer {

constexpr std::size_t round_up(std::size_t size_bytes, std::size_t multiple) noexcept {
  return (size_bytes + multiple - 1) / multiple * multiple;
}

/// The most that a block of this requested size may take: an eighth more.
constexpr std::size_t with_waste(std::size_t size_bytes) noexcept {
  return size_bytes + size_bytes / 8;
}

/// The size of a region for one block: whole huge pages, or small pages if huge ones waste too
/// much.
inline std::size_t whole_region_bytes(std::size_t size_bytes) noexcept {
  const std::size_t huge_bytes = round_up(size_bytes, host::kHugePageBytes);
  return huge_bytes <= with_waste(size_bytes) ? huge_bytes
                                              : round_up(size_bytes, host::page_bytes());
}

}  // namespace isthmus::transfer
