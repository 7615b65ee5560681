// A value for every lane of a warp, and the lanes in which a condition holds. On the host an
// operation is a loop over 32 values, which the compiler vectorises; on a GPU these are plain T and
// bool.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace isthmus::workloads {

inline constexpr std::uint32_t kNumLanes = 32;

/// The lanes in which predicate(lane) holds. Two steps, since compilers vectorise the first.
template <class Predicate>
inline std::uint32_t bits_where(Predicate predicate) {
  static_assert(std::endian::native == std::endian::little);
  std::uint8_t flags[kNumLanes];
  for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) flags[lane] = predicate(lane) ? 1 : 0;
  std::uint32_t bits = 0;
  for (std::uint32_t first = 0; first < kNumLanes; first += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, flags + first, sizeof(eight));
    // Moves the lowest bit of each byte into the highest byte, in order.
    bits |= static_cast<std::uint32_t>(eight * 0x0102040810204080U >> 56U) << first;
  }
  return bits;
}

/// One bit per lane. Conditions combine with &,
///  and !, which also work with a GPU's bool.
struct Mask {
  std::uint32_t bits = 0;

  friend Mask operator&(Mask a, Mask b) { return {a.bits & b.bits}; }
  friend Mask operator|(Mask a, Mask b) { return {a.bits | b.bits}; }
  friend Mask operator!(Mask a) { return {~a.bits}; }
};

/// One T per lane. Arithmetic runs in all lanes, active or not: it must be defined for any value
/// (unsigned integers, no division by a value that may be 0 in another lane).
template <class T>
struct Lanes {
  T values[kNumLanes]{};

  Lanes() = default;
  /// The same value in every lane.
  Lanes(const T& uniform) {
    for (T& value : values) value = uniform;
  }

  T& operator[](std::uint32_t lane) { return values[lane]; }
  const T& operator[](std::uint32_t lane) const { return values[lane]; }

#define ISTHMUS_LANES_ARITHMETIC(op)                                          \
  friend Lanes operator op(const Lanes& a, const Lanes& b) {                  \
    Lanes result;                                                             \
    for (std::uint32_t lane = 0; lane < kNumLanes; ++lane)                    \
      result.values[lane] = static_cast<T>(a.values[lane] op b.values[lane]); \
    return result;                                                            \
  }
  ISTHMUS_LANES_ARITHMETIC(+)
  ISTHMUS_LANES_ARITHMETIC(-)
  ISTHMUS_LANES_ARITHMETIC(*)
  ISTHMUS_LANES_ARITHMETIC(/)
  ISTHMUS_LANES_ARITHMETIC(%)
  ISTHMUS_LANES_ARITHMETIC(&)
  ISTHMUS_LANES_ARITHMETIC(|)
  ISTHMUS_LANES_ARITHMETIC(^)
  ISTHMUS_LANES_ARITHMETIC(<<)
  ISTHMUS_LANES_ARITHMETIC(>>)
#undef ISTHMUS_LANES_ARITHMETIC

#define ISTHMUS_LANES_COMPARISON(op)                                                           \
  friend Mask operator op(const Lanes& a, const Lanes& b) {                                    \
    return {bits_where([&](std::uint32_t lane) { return a.values[lane] op b.values[lane]; })}; \
  }
  ISTHMUS_LANES_COMPARISON(==)
  ISTHMUS_LANES_COMPARISON(!=)
  ISTHMUS_LANES_COMPARISON(<)
  ISTHMUS_LANES_COMPARISON(<=)
  ISTHMUS_LANES_COMPARISON(>)
  ISTHMUS_LANES_COMPARISON(>=)
#undef ISTHMUS_LANES_COMPARISON
};

}  // namespace isthmus::workloads
