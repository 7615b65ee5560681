#include "window/copies/streaming_ways.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

namespace isthmus::window {
namespace {

// In assembly: a compiler may narrow, split or drop a load that it understands, and a sanitizer
// would report loads outside the caller's range.
[[gnu::target("avx512f")]] inline __m512i load_line(const std::byte* source) {
  __m512i line;
  __asm__ volatile("vmovntdqa %1, %0"
                   : "=v"(line)
                   : "m"(*reinterpret_cast<const __m512i*>(source)));
  return line;
}

[[gnu::target("avx512f")]] inline void store_line(std::byte* target, __m512i line) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(target), line);
}

// Lines that a core can have in flight at once (line-fill buffers of Golden Cove).
constexpr std::size_t kLinesInFlight = 16;
constexpr std::size_t kUnrolledStores = 4;

}  // namespace

[[gnu::target("avx512f")]] void store_lines_avx512(std::byte* target, const std::byte* source,
                                                   std::size_t num_lines) {
  while (num_lines >= kUnrolledStores) {
    __m512i lines[kUnrolledStores];
    for (std::size_t i = 0; i < kUnrolledStores; ++i) {
      lines[i] = _mm512_loadu_si512(source + i * kLineBytes);
    }
    for (std::size_t i = 0; i < kUnrolledStores; ++i) {
      store_line(target + i * kLineBytes, lines[i]);
    }
    target += kUnrolledStores * kLineBytes;
    source += kUnrolledStores * kLineBytes;
    num_lines -= kUnrolledStores;
  }
  for (std::size_t i = 0; i < num_lines; ++i) {
    store_line(target + i * kLineBytes, _mm512_loadu_si512(source + i * kLineBytes));
  }
}

[[gnu::target("avx512f")]] void load_lines_avx512(std::byte* target, const std::byte* source,
                                                  std::size_t num_lines) {
  while (num_lines >= kLinesInFlight) {
    __m512i lines[kLinesInFlight];
    for (std::size_t i = 0; i < kLinesInFlight; ++i) lines[i] = load_line(source + i * kLineBytes);
    for (std::size_t i = 0; i < kLinesInFlight; ++i) {
      _mm512_storeu_si512(target + i * kLineBytes, lines[i]);
    }
    target += kLinesInFlight * kLineBytes;
    source += kLinesInFlight * kLineBytes;
    num_lines -= kLinesInFlight;
  }
  for (std::size_t i = 0; i < num_lines; ++i) {
    _mm512_storeu_si512(target + i * kLineBytes, load_line(source + i * kLineBytes));
  }
}

constinit const StreamingCopy kAvx512Copy{"avx512", write_range<store_lines_avx512>,
                                          read_range<load_lines_avx512>};

}  // namespace isthmus::window

#endif
