// What CUDA C++ has and C++ lacks, for kernels that run on the CPU: in the emulator, and in tests in
// which each thread is a block.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

using std::int32_t;
using std::int64_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

/// An index or an extent, as in CUDA.
struct IsthmusIndex {
  unsigned int x, y, z;
};

// NOLINTBEGIN(readability-identifier-naming): CUDA's names
/// Sixteen bytes, moved at once.
struct alignas(16) uint4 {
  unsigned int x, y, z, w;
};

inline void __syncthreads() {}

template <typename Number>
Number atomicAdd(Number* target, Number increment) {
  return __atomic_fetch_add(target, increment, __ATOMIC_SEQ_CST);
}

template <typename Number>
Number atomicCAS(Number* target, Number seen, Number other) {
  __atomic_compare_exchange_n(target, &seen, other, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return seen;
}

template <typename Number>
Number atomicExch(Number* target, Number other) {
  return __atomic_exchange_n(target, other, __ATOMIC_SEQ_CST);
}

template <typename Number>
Number atomicMin(Number* target, Number other) {
  Number seen = __atomic_load_n(target, __ATOMIC_SEQ_CST);
  while (other < seen && !__atomic_compare_exchange_n(target, &seen, other, false, __ATOMIC_SEQ_CST,
                                                      __ATOMIC_SEQ_CST)) {
  }
  return seen;
}
// NOLINTEND(readability-identifier-naming)

inline uint64_t isthmus_now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
}

/// A lane that waits yields its core: the thread that sets the flag may need it.
inline void isthmus_pause() { std::this_thread::yield(); }
