// Copies the items of an array between two memory layouts (see layouts.cuh), and converts them to
// another type of number.
//
// Integers wrap around, as in C. A number that a float can't hold is rounded to the nearest, ties to
// even, once; too large ones become infinite. A float becomes an integer by dropping its fraction;
// beyond the integer's range it becomes the nearest integer, and NaN becomes 0. Everything but zero
// is true.
//
// CPU reference: NumPy, in tests/unit/move/transfer/test_casting.py.
#include "layouts.cuh"

/// The types of items; transfer/movers/layouts.hpp has the same numbers.
constexpr uint32_t kIsthmusBool = 1;
constexpr uint32_t kIsthmusInt8 = 2, kIsthmusInt16 = 3, kIsthmusInt32 = 4, kIsthmusInt64 = 5;
constexpr uint32_t kIsthmusUint8 = 6, kIsthmusUint16 = 7, kIsthmusUint32 = 8, kIsthmusUint64 = 9;
constexpr uint32_t kIsthmusFloat16 = 10, kIsthmusBfloat16 = 11;
constexpr uint32_t kIsthmusFloat32 = 12, kIsthmusFloat64 = 13;

// Bits of a double.
constexpr int kIsthmusFractionBits = 52;
constexpr uint64_t kIsthmusFraction = (uint64_t(1) << kIsthmusFractionBits) - 1;
constexpr int kIsthmusBias = 1023;

/// A number of any type, exactly.
struct IsthmusNumber {
  bool is_float;
  bool is_signed;   // of an integer
  uint64_t whole;   // an integer, in two's complement
  double fraction;  // a float
};

/// The number of another type that has the same bits.
template <typename To, typename From>
__device__ inline To isthmus_same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "as many bits");
  union {
    From from;
    To to;
  } same;
  same.from = from;
  return same.to;
}

__device__ inline IsthmusNumber isthmus_whole(uint64_t whole, bool is_signed) {
  return IsthmusNumber{false, is_signed, whole, 0};
}

__device__ inline IsthmusNumber isthmus_fraction(double fraction) {
  return IsthmusNumber{true, false, 0, fraction};
}

/// A float16, exactly.
__device__ inline double isthmus_half(uint32_t bits) {
  const uint64_t sign = uint64_t(bits >> 15) << 63;
  const uint32_t exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent == 0) {  // a multiple of 2**-24
    const double size = double(fraction) * (1.0 / 16777216);
    return sign == 0 ? size : -size;
  }
  const uint64_t wide = exponent == 31 ? 2047 : exponent - 15 + kIsthmusBias;
  return isthmus_same_bits<double>(sign | (wide << kIsthmusFractionBits) |
                                   (uint64_t(fraction) << 42));
}

template <typename Type>
__device__ inline Type isthmus_item(uint64_t address) {
  return *reinterpret_cast<const Type*>(address);
}

__device__ inline IsthmusNumber isthmus_read(uint32_t type, uint64_t address) {
  switch (type) {
    case kIsthmusBool:
      return isthmus_whole(isthmus_item<uint8_t>(address) != 0 ? 1 : 0, false);
    case kIsthmusInt8:
      return isthmus_whole(uint64_t(isthmus_item<signed char>(address)), true);
    case kIsthmusInt16:
      return isthmus_whole(uint64_t(isthmus_item<short>(address)), true);
    case kIsthmusInt32:
      return isthmus_whole(uint64_t(isthmus_item<int32_t>(address)), true);
    case kIsthmusInt64:
      return isthmus_whole(isthmus_item<uint64_t>(address), true);
    case kIsthmusUint8:
      return isthmus_whole(isthmus_item<uint8_t>(address), false);
    case kIsthmusUint16:
      return isthmus_whole(isthmus_item<unsigned short>(address), false);
    case kIsthmusUint32:
      return isthmus_whole(isthmus_item<uint32_t>(address), false);
    case kIsthmusUint64:
      return isthmus_whole(isthmus_item<uint64_t>(address), false);
    case kIsthmusFloat16:
      return isthmus_fraction(isthmus_half(isthmus_item<unsigned short>(address)));
    case kIsthmusBfloat16:  // the upper half of a float
      return isthmus_fraction(
          isthmus_same_bits<float>(uint32_t(isthmus_item<unsigned short>(address)) << 16));
    case kIsthmusFloat32:
      return isthmus_fraction(isthmus_item<float>(address));
    default:
      return isthmus_fraction(isthmus_item<double>(address));
  }
}

/// The nearest float with so many bits of exponent and fraction, which together are less than 16.
__device__ inline uint32_t isthmus_narrow(double number, int exponent_bits, int fraction_bits) {
  const uint64_t bits = isthmus_same_bits<uint64_t>(number);
  const uint32_t sign = uint32_t(bits >> 63) << (exponent_bits + fraction_bits);
  const int largest = (1 << exponent_bits) - 1;
  const uint32_t infinite = uint32_t(largest) << fraction_bits;
  const int wide = int(bits >> kIsthmusFractionBits) & 2047;
  if (wide == 2047)
    return sign | infinite | ((bits & kIsthmusFraction) != 0 ? 1U << (fraction_bits - 1) : 0);
  const int exponent = wide - kIsthmusBias + (largest >> 1);
  if (exponent >= largest) return sign | infinite;
  // Below the smallest normal number the fraction loses bits, and its leading 1 is written out.
  const bool is_small = exponent <= 0;
  const int lost = kIsthmusFractionBits - fraction_bits + (is_small ? 1 - exponent : 0);
  if (lost > kIsthmusFractionBits + 1) return sign;  // less than half of the smallest
  uint64_t kept = bits & kIsthmusFraction;
  kept |= is_small ? kIsthmusFraction + 1 : uint64_t(exponent) << kIsthmusFractionBits;
  const uint64_t half = uint64_t(1) << (lost - 1);
  const uint64_t rest = kept & (2 * half - 1);
  uint64_t rounded = kept >> lost;
  if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;  // may carry to the exponent
  return sign | uint32_t(rounded);
}

/// An integer as a double that narrow floats round as they would round the integer: bits that a
/// double doesn't hold leave a trace in the last one that it does.
__device__ inline double isthmus_traced(const IsthmusNumber& number) {
  const bool negative = number.is_signed && (number.whole >> 63) != 0;
  uint64_t size = negative ? 0 - number.whole : number.whole;
  constexpr uint64_t kBeyond = 2047;
  if ((size >> 53) != 0) size = (size & ~kBeyond) | ((size & kBeyond) != 0 ? kBeyond + 1 : 0);
  return negative ? -double(size) : double(size);
}

__device__ inline double isthmus_as_double(const IsthmusNumber& number) {
  if (number.is_float) return number.fraction;
  return number.is_signed ? double((long long)number.whole) : double(number.whole);
}

__device__ inline float isthmus_as_float(const IsthmusNumber& number) {
  if (number.is_float) return float(number.fraction);
  return number.is_signed ? float((long long)number.whole) : float(number.whole);
}

/// A power of two.
__device__ inline double isthmus_power(int exponent) {
  return isthmus_same_bits<double>(uint64_t(exponent + kIsthmusBias) << kIsthmusFractionBits);
}

/// The low bits of an integer of so many bits.
__device__ inline uint64_t isthmus_as_signed(const IsthmusNumber& number, int bits) {
  if (!number.is_float) return number.whole;
  if (number.fraction != number.fraction) return 0;
  const uint64_t least = uint64_t(1) << (bits - 1);
  if (number.fraction >= isthmus_power(bits - 1)) return least - 1;
  if (number.fraction <= -isthmus_power(bits - 1)) return least;
  return uint64_t((long long)number.fraction);
}

__device__ inline uint64_t isthmus_as_unsigned(const IsthmusNumber& number, int bits) {
  if (!number.is_float) return number.whole;
  if (!(number.fraction > 0)) return 0;  // also NaN
  if (number.fraction >= isthmus_power(bits)) return ~uint64_t(0) >> (64 - bits);
  return uint64_t(number.fraction);
}

__device__ inline uint32_t isthmus_as_narrow(const IsthmusNumber& number, int exponent_bits,
                                             int fraction_bits) {
  const double wide = number.is_float ? number.fraction : isthmus_traced(number);
  return isthmus_narrow(wide, exponent_bits, fraction_bits);
}

template <typename Type>
__device__ inline void isthmus_put(uint64_t address, Type item) {
  *reinterpret_cast<Type*>(address) = item;
}

__device__ inline void isthmus_write(uint32_t type, uint64_t address, const IsthmusNumber& number) {
  switch (type) {
    case kIsthmusBool:
      return isthmus_put<uint8_t>(address,
                                  number.is_float ? number.fraction != 0 : number.whole != 0);
    case kIsthmusInt8:
      return isthmus_put(address, uint8_t(isthmus_as_signed(number, 8)));
    case kIsthmusInt16:
      return isthmus_put(address, (unsigned short)isthmus_as_signed(number, 16));
    case kIsthmusInt32:
      return isthmus_put(address, uint32_t(isthmus_as_signed(number, 32)));
    case kIsthmusInt64:
      return isthmus_put(address, isthmus_as_signed(number, 64));
    case kIsthmusUint8:
      return isthmus_put(address, uint8_t(isthmus_as_unsigned(number, 8)));
    case kIsthmusUint16:
      return isthmus_put(address, (unsigned short)isthmus_as_unsigned(number, 16));
    case kIsthmusUint32:
      return isthmus_put(address, uint32_t(isthmus_as_unsigned(number, 32)));
    case kIsthmusUint64:
      return isthmus_put(address, isthmus_as_unsigned(number, 64));
    case kIsthmusFloat16:
      return isthmus_put(address, (unsigned short)isthmus_as_narrow(number, 5, 10));
    case kIsthmusBfloat16:
      return isthmus_put(address, (unsigned short)isthmus_as_narrow(number, 8, 7));
    case kIsthmusFloat32:
      return isthmus_put(address, isthmus_as_float(number));
    default:
      return isthmus_put(address, isthmus_as_double(number));
  }
}

/// layouts      their item_bytes are the target's
extern "C" __global__ void isthmus_convert(IsthmusLayouts layouts, uint32_t target_type,
                                           uint32_t source_type, uint32_t source_bytes) {
  isthmus_note_read(reinterpret_cast<const void*>(layouts.source), layouts.count * source_bytes);
  isthmus_note_write(reinterpret_cast<void*>(layouts.target), layouts.count * layouts.item_bytes);
  const uint64_t end = layouts.first + layouts.count;
  for (uint64_t i = layouts.first + isthmus_lane(); i < end; i += isthmus_num_lanes()) {
    const IsthmusPlaces places = isthmus_places(layouts, i);
    isthmus_write(target_type, places.target, isthmus_read(source_type, places.source));
  }
}
