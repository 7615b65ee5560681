// The test pattern on the host: the same bytes that kernels/pattern.cu writes on a device.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus::host {

/// Word `index` of the pattern: SplitMix64's output `index` from `seed`.
///
/// Source      Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.
constexpr std::uint64_t pattern_word(std::uint64_t seed, std::uint64_t index) noexcept {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31U);
}

/// Many threads fill faster. But they leave bytes in the caches of many cores, and an upload that follows
/// has to fetch them from there. Source: benchmarks/link/just_written.py.
enum class FilledBy { many_threads, one_thread };

/// Fills host memory with the pattern: 8-byte little-endian words, the last one cut short.
///
/// Large ranges are split over the CPUs the calling thread may run on; each thread inherits the
/// caller's memory policy, so untouched pages land where the caller asked.
///
/// target      host, [size_bytes], any alignment
/// size_bytes  may be 0
/// Throws      std::system_error if a thread can't be started; the target is then undefined.
void fill_pattern(std::byte* target, std::size_t size_bytes, std::uint64_t seed,
                  FilledBy filled_by = FilledBy::many_threads);

/// Counts differences from the pattern: whole words, and then each trailing byte separately.
///
/// source      host, [size_bytes], any alignment
/// Returns     0 when every byte is as fill_pattern would have written it.
/// Throws      std::system_error if a thread can't be started.
std::uint64_t count_pattern_mismatches(const std::byte* source, std::size_t size_bytes,
                                       std::uint64_t seed);

}  // namespace isthmus::host
