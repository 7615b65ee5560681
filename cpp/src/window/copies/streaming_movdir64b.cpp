#include "window/copies/streaming_ways.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

namespace isthmus::window {
namespace {

// Up to 4 KiB it ties with streaming stores (Sapphire Rapids, H100); 16 KiB take 1.08 us instead of
// 0.88. Measured: benchmarks/windows.
constexpr std::size_t kMaxLines = 64;

[[gnu::target("movdir64b")]] void store_lines(std::byte* target, const std::byte* source,
                                              std::size_t num_lines) {
  if (num_lines > kMaxLines) return store_lines_avx512(target, source, num_lines);
  for (std::size_t i = 0; i < num_lines; ++i) {
    _movdir64b(target + i * kLineBytes, source + i * kLineBytes);
  }
}

}  // namespace

constinit const StreamingCopy kMovdir64bCopy{"movdir64b", write_range<store_lines>,
                                             read_range<load_lines_avx512>};

}  // namespace isthmus::window

#endif
