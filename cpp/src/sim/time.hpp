// Simulated time: whole picoseconds, so that sums are exact and the same everywhere.
#pragma once

#include <cstdint>

namespace isthmus::sim {

/// Since the start of the run; 2^64 ps are 213 days.
using Picoseconds = std::uint64_t;

inline constexpr Picoseconds kPicosecondsPerSecond = 1'000'000'000'000;
/// For products of two times or rates.
__extension__ using Wide = unsigned __int128;

inline constexpr Picoseconds kNever = ~Picoseconds{0};

/// One cycle in whole picoseconds, rounded to nearest: 700 MHz is 1429 ps (0.03 % slow).
constexpr Picoseconds cycle_ps(std::uint64_t clock_hz) {
  return (kPicosecondsPerSecond + clock_hz / 2) / clock_hz;
}

/// The time of `size_bytes` at `bytes_per_s`, rounded up. Exact for any size.
constexpr Picoseconds transfer_ps(std::uint64_t size_bytes, std::uint64_t bytes_per_s) {
  const Wide scaled = Wide{size_bytes} * kPicosecondsPerSecond + (bytes_per_s - 1);
  return static_cast<Picoseconds>(scaled / bytes_per_s);
}

}  // namespace isthmus::sim
