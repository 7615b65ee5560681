#include "window/copies/streaming_ways.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

namespace isthmus::window {
namespace {

constexpr std::size_t kHalfBytes = kLineBytes / 2;
constexpr std::size_t kUnrolledHalves = 8;
constexpr std::size_t kUnrolledLines = kUnrolledHalves / 2;

// In assembly: see streaming_avx512.cpp.
[[gnu::target("avx2")]] inline __m256i load_half(const std::byte* source) {
  __m256i half;
  __asm__ volatile("vmovntdqa %1, %0"
                   : "=x"(half)
                   : "m"(*reinterpret_cast<const __m256i*>(source)));
  return half;
}

[[gnu::target("avx2")]] inline __m256i load_host_half(const std::byte* source) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
}

[[gnu::target("avx2")]] inline void store_half(std::byte* target, __m256i half) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(target), half);
}

[[gnu::target("avx2")]] inline void store_host_half(std::byte* target, __m256i half) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), half);
}

[[gnu::target("avx2")]] void store_lines(std::byte* target, const std::byte* source,
                                         std::size_t num_lines) {
  while (num_lines >= kUnrolledLines) {
    __m256i halves[kUnrolledHalves];
    for (std::size_t i = 0; i < kUnrolledHalves; ++i) {
      halves[i] = load_host_half(source + i * kHalfBytes);
    }
    for (std::size_t i = 0; i < kUnrolledHalves; ++i) {
      store_half(target + i * kHalfBytes, halves[i]);
    }
    target += kUnrolledLines * kLineBytes;
    source += kUnrolledLines * kLineBytes;
    num_lines -= kUnrolledLines;
  }
  for (std::size_t i = 0; i < 2 * num_lines; ++i) {
    store_half(target + i * kHalfBytes, load_host_half(source + i * kHalfBytes));
  }
}

// The CPU executes loads of the next rounds ahead, so more lines than these are in flight.
[[gnu::target("avx2")]] void load_lines(std::byte* target, const std::byte* source,
                                        std::size_t num_lines) {
  while (num_lines >= kUnrolledLines) {
    __m256i halves[kUnrolledHalves];
    for (std::size_t i = 0; i < kUnrolledHalves; ++i) {
      halves[i] = load_half(source + i * kHalfBytes);
    }
    for (std::size_t i = 0; i < kUnrolledHalves; ++i) {
      store_host_half(target + i * kHalfBytes, halves[i]);
    }
    target += kUnrolledLines * kLineBytes;
    source += kUnrolledLines * kLineBytes;
    num_lines -= kUnrolledLines;
  }
  for (std::size_t i = 0; i < 2 * num_lines; ++i) {
    store_host_half(target + i * kHalfBytes, load_half(source + i * kHalfBytes));
  }
}

}  // namespace

constinit const StreamingCopy kAvx2Copy{"avx2", write_range<store_lines>, read_range<load_lines>};

}  // namespace isthmus::window

#endif
