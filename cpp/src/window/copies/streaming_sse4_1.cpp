#include "window/copies/streaming_ways.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

namespace isthmus::window {
namespace {

constexpr std::size_t kQuarterBytes = kLineBytes / 4;
constexpr std::size_t kUnrolledQuarters = 8;
constexpr std::size_t kUnrolledLines = kUnrolledQuarters / 4;

// In assembly: see streaming_avx512.cpp.
[[gnu::target("sse4.1")]] inline __m128i load_quarter(const std::byte* source) {
  __m128i quarter;
  __asm__ volatile("movntdqa %1, %0"
                   : "=x"(quarter)
                   : "m"(*reinterpret_cast<const __m128i*>(source)));
  return quarter;
}

[[gnu::target("sse4.1")]] inline __m128i load_host_quarter(const std::byte* source) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(source));
}

[[gnu::target("sse4.1")]] inline void store_quarter(std::byte* target, __m128i quarter) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(target), quarter);
}

[[gnu::target("sse4.1")]] inline void store_host_quarter(std::byte* target, __m128i quarter) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(target), quarter);
}

[[gnu::target("sse4.1")]] void store_lines(std::byte* target, const std::byte* source,
                                           std::size_t num_lines) {
  while (num_lines >= kUnrolledLines) {
    __m128i quarters[kUnrolledQuarters];
    for (std::size_t i = 0; i < kUnrolledQuarters; ++i) {
      quarters[i] = load_host_quarter(source + i * kQuarterBytes);
    }
    for (std::size_t i = 0; i < kUnrolledQuarters; ++i) {
      store_quarter(target + i * kQuarterBytes, quarters[i]);
    }
    target += kUnrolledLines * kLineBytes;
    source += kUnrolledLines * kLineBytes;
    num_lines -= kUnrolledLines;
  }
  for (std::size_t i = 0; i < 4 * num_lines; ++i) {
    store_quarter(target + i * kQuarterBytes, load_host_quarter(source + i * kQuarterBytes));
  }
}

// The four loads of a line stand together: the first fetches the line, the others find it there.
[[gnu::target("sse4.1")]] void load_lines(std::byte* target, const std::byte* source,
                                          std::size_t num_lines) {
  while (num_lines >= kUnrolledLines) {
    __m128i quarters[kUnrolledQuarters];
    for (std::size_t i = 0; i < kUnrolledQuarters; ++i) {
      quarters[i] = load_quarter(source + i * kQuarterBytes);
    }
    for (std::size_t i = 0; i < kUnrolledQuarters; ++i) {
      store_host_quarter(target + i * kQuarterBytes, quarters[i]);
    }
    target += kUnrolledLines * kLineBytes;
    source += kUnrolledLines * kLineBytes;
    num_lines -= kUnrolledLines;
  }
  for (std::size_t i = 0; i < 4 * num_lines; ++i) {
    store_host_quarter(target + i * kQuarterBytes, load_quarter(source + i * kQuarterBytes));
  }
}

}  // namespace

constinit const StreamingCopy kSse41Copy{"sse4_1", write_range<store_lines>,
                                         read_range<load_lines>};

}  // namespace isthmus::window

#endif
