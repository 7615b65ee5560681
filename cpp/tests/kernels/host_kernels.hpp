// Compiles kernels/*.cu for tests in which each thread of the CPU is a block of one lane, so that
// blocks run beside each other. What cpp/emulator/src/kernels/host_kernels.hpp is for the emulator.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#define __global__
#define __device__
#define __launch_bounds__(...)
#define __grid_constant__

using std::int32_t;
using std::int64_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

struct IsthmusIndex {
  unsigned int x, y, z;
};

// NOLINTBEGIN(readability-identifier-naming): CUDA's names
struct alignas(16) uint4 {
  unsigned int x, y, z, w;
};

inline thread_local IsthmusIndex gridDim{1, 1, 1};
inline thread_local IsthmusIndex blockIdx{0, 0, 0};
inline constexpr IsthmusIndex blockDim{1, 1, 1};
inline constexpr IsthmusIndex threadIdx{0, 0, 0};

inline uint64_t isthmus_now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
}
inline void isthmus_pause() { std::this_thread::yield(); }
inline void isthmus_note_read(const void*, uint64_t) {}
inline void isthmus_note_write(const void*, uint64_t) {}
inline void isthmus_await_traffic() {}

inline void __syncthreads() {}
/// By a word, which the thread sanitizer understands.
inline void __threadfence_system() {
  static std::atomic<int> word;
  word.fetch_add(1, std::memory_order_seq_cst);
}
inline void __threadfence() { __threadfence_system(); }

template <typename Number>
Number atomicAdd(Number* target, Number increment) {
  return __atomic_fetch_add(target, increment, __ATOMIC_SEQ_CST);
}
template <typename Number>
Number atomicExch(Number* target, Number other) {
  return __atomic_exchange_n(target, other, __ATOMIC_SEQ_CST);
}
template <typename Number>
Number atomicCAS(Number* target, Number seen, Number other) {
  __atomic_compare_exchange_n(target, &seen, other, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return seen;
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
