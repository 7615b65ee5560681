#include "transfer/staging/host_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "host/cpu/copy_instructions.hpp"
#include "host/memory/pages.hpp"
#include "window/copies/streaming_copy.hpp"

namespace isthmus::transfer {
namespace {

#if defined(__x86_64__)

constexpr std::size_t kLinesAtOnce = 4;
constexpr std::size_t kBlockBytes = kLinesAtOnce * host::kLineBytes;

using LineAction = void (*)(const std::byte* line);

void fetch_to_read(const std::byte* line) { _mm_prefetch(line, _MM_HINT_T0); }

void fetch_to_write(const std::byte* line) { __asm__ volatile("prefetchw %0" : : "m"(*line)); }

/// A hint. Source: Intel SDM vol. 2A, CLDEMOTE; written as bytes, because assemblers may not know
/// it.
void demote(const std::byte* line) {
  __asm__ volatile(".byte 0x0f, 0x1c, 0x07" : : "D"(line) : "memory");
}

template <LineAction Action>
inline void for_lines(const std::byte* block) {
  for (std::size_t i = 0; i < kLinesAtOnce; ++i) Action(block + i * host::kLineBytes);
}

/// May prefetch past the ends: a prefetch of memory that can't be touched does nothing. The
/// hardware's prefetching ends at 4 KiB pages, and a line that will be written completely is
/// fetched nevertheless. Half of these distances are worse by 0.05 of the link's speed. Source: tag
/// explorations, benchmarks/transfer.
template <bool Demotes>
[[gnu::target("avx512f")]] void copy_blocks(std::byte* target, const std::byte* source,
                                            std::size_t num_blocks) noexcept {
  for (; num_blocks > 0; --num_blocks) {
    for_lines<fetch_to_read>(source + 2048);
    for_lines<fetch_to_write>(target + 1024);
    __m512i lines[kLinesAtOnce];
    for (std::size_t i = 0; i < kLinesAtOnce; ++i)
      lines[i] = _mm512_loadu_si512(source + i * host::kLineBytes);
    for (std::size_t i = 0; i < kLinesAtOnce; ++i)
      _mm512_storeu_si512(target + i * host::kLineBytes, lines[i]);
    if constexpr (Demotes) for_lines<demote>(target);
    source += kBlockBytes;
    target += kBlockBytes;
  }
}

template <bool Demotes>
void copy_fetching(std::byte* target, const std::byte* source, std::size_t size_bytes) noexcept {
  const std::size_t into = reinterpret_cast<std::uintptr_t>(target) % host::kLineBytes;
  const std::size_t head = std::min(size_bytes, (host::kLineBytes - into) % host::kLineBytes);
  const std::size_t num_blocks = (size_bytes - head) / kBlockBytes;
  const std::size_t done = head + num_blocks * kBlockBytes;
  std::memcpy(target, source, head);
  copy_blocks<Demotes>(target + head, source + head, num_blocks);
  std::memcpy(target + done, source + done, size_bytes - done);
}

#else

template <bool Demotes>
void copy_fetching(std::byte* target, const std::byte* source, std::size_t size_bytes) noexcept {
  std::memcpy(target, source, size_bytes);
}

#endif

}  // namespace

bool can_demote() noexcept {
  static const bool can = [] {
    const host::CopyInstructions found = host::copy_instructions();
    return found.cldemote && found.avx512f;
  }();
  return can;
}

void copy_by(SlotStores stores, std::byte* target, const std::byte* source,
             std::size_t size_bytes) noexcept {
  switch (stores) {
    case SlotStores::streaming:
      return copy_streaming(target, source, size_bytes);
    case SlotStores::fetched:
      if (can_demote()) return copy_fetching<false>(target, source, size_bytes);
      break;
    case SlotStores::demoted:
      if (can_demote()) return copy_fetching<true>(target, source, size_bytes);
      break;
    case SlotStores::plain:
      break;
  }
  std::memcpy(target, source, size_bytes);
}

void copy_streaming(std::byte* target, const std::byte* source, std::size_t size_bytes) noexcept {
  // Instructions that write fast to a window also write fast past the caches: the same are used.
  window::best_streaming_copy().write(target, source, size_bytes);
  window::store_fence();
}

}  // namespace isthmus::transfer
