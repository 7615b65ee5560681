// A run of bytes inside a page.
#pragma once

#include <cstdint>

namespace isthmus::pages {

/// Bytes [offset_bytes, offset_bytes + length_bytes) of a page.
struct Span {
  std::uint32_t offset_bytes = 0;
  std::uint32_t length_bytes = 0;

  constexpr std::uint32_t end_bytes() const { return offset_bytes + length_bytes; }
  constexpr bool contains(Span other) const {
    return offset_bytes <= other.offset_bytes && other.end_bytes() <= end_bytes();
  }
  friend constexpr bool operator==(Span left, Span right) {
    return left.offset_bytes == right.offset_bytes && left.length_bytes == right.length_bytes;
  }
};

/// The bytes [first, end) as a span.
constexpr Span span_between(std::uint32_t first_bytes, std::uint32_t end_bytes) {
  return {first_bytes, end_bytes - first_bytes};
}

/// The smallest span that contains both, and the gap between them.
constexpr Span hull(Span left, Span right) {
  if (left.length_bytes == 0) return right;
  if (right.length_bytes == 0) return left;
  const std::uint32_t first =
      left.offset_bytes < right.offset_bytes ? left.offset_bytes : right.offset_bytes;
  const std::uint32_t end =
      left.end_bytes() > right.end_bytes() ? left.end_bytes() : right.end_bytes();
  return span_between(first, end);
}

/// The intersection of two spans.
constexpr Span overlap(Span left, Span right) {
  const std::uint32_t first =
      left.offset_bytes > right.offset_bytes ? left.offset_bytes : right.offset_bytes;
  const std::uint32_t end =
      left.end_bytes() < right.end_bytes() ? left.end_bytes() : right.end_bytes();
  return first < end ? span_between(first, end) : Span{};
}

/// True if they overlap or one begins where the other ends.
constexpr bool touch(Span left, Span right) {
  return left.offset_bytes <= right.end_bytes() && right.offset_bytes <= left.end_bytes();
}

/// `span` extended to multiples of `unit_bytes`, a power of two.
constexpr Span aligned(Span span, std::uint32_t unit_bytes) {
  const std::uint32_t mask = unit_bytes - 1;
  return span_between(span.offset_bytes & ~mask, (span.end_bytes() + mask) & ~mask);
}

}  // namespace isthmus::pages
