#include "window/copies/streaming_copy.hpp"

#include <atomic>

#include "window/copies/streaming_ways.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace isthmus::window {

// Why there is a fence before and after a read (Intel's manual, vol. 1, streaming loads; vol. 2,
// MOVNTDQA):
//   - A streaming load may be answered from a line buffer that an earlier one filled and that
//     nobody snoops: the manual requires MFENCE between a read and other agents' writes. A read
//     takes whole lines, so it leaves no buffer of its own for a later load.
//   - Locked instructions aren't enough: streaming loads pass them (Haswell's erratum HSD162 and
//     after).
//   - Streaming loads are weakly ordered. LFENCE ends a read, so that what the caller loads next (a
//     flag or data in host memory) is not older than what it has read.

void store_fence() noexcept {
#if defined(__x86_64__)
  _mm_sfence();
#elif defined(__aarch64__)
  // Not DMB: gathered stores must also leave the core, not only stay in order.
  __asm__ volatile("dsb st" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

void load_fence() noexcept {
#if defined(__x86_64__)
  _mm_lfence();
#elif defined(__aarch64__)
  __asm__ volatile("dmb oshld" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

void before_streaming_loads() noexcept {
#if defined(__x86_64__)
  _mm_mfence();
#elif defined(__aarch64__)
  __asm__ volatile("dmb osh" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

std::vector<const StreamingCopy*> streaming_copies(const host::CopyInstructions& instructions) {
  std::vector<const StreamingCopy*> copies;
#if defined(__x86_64__)
  if (instructions.avx512f) copies.push_back(&kAvx512Copy);
  // After avx512: nowhere measured to be faster (benchmarks/windows).
  if (instructions.movdir64b && instructions.avx512f) copies.push_back(&kMovdir64bCopy);
  if (instructions.avx2) copies.push_back(&kAvx2Copy);
  if (instructions.sse4_1) copies.push_back(&kSse41Copy);
#elif defined(__aarch64__)
  if (instructions.neon) copies.push_back(&kNeonCopy);
#else
  static_cast<void>(instructions);
#endif
  copies.push_back(&kPortableCopy);
  return copies;
}

const StreamingCopy& best_streaming_copy() {
  static const StreamingCopy& best = *streaming_copies(host::copy_instructions()).front();
  return best;
}

}  // namespace isthmus::window
