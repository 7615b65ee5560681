// Compiles kernels/*.cu for the CPU: provides the CUDA C++ that kernels use, in plain C++.
//
// Included by kernels/portable.cuh when ISTHMUS_HOST_KERNELS is defined. A launch is one lane here,
// whatever its grid: our kernels' loops are grid-stride, so the result is the same, and a CPU is
// fast when one lane goes through memory in order.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "kernels/kernel_traffic.hpp"

#define __global__ __attribute__((visibility("hidden")))
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static thread_local  // kernels run concurrently, each in a thread

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

inline constexpr IsthmusIndex gridDim{1, 1, 1};
inline constexpr IsthmusIndex blockIdx{0, 0, 0};
inline constexpr IsthmusIndex blockDim{1, 1, 1};
inline constexpr IsthmusIndex threadIdx{0, 0, 0};
// NOLINTEND(readability-identifier-naming)

inline uint64_t isthmus_now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
}

/// A lane that waits yields its core: the thread that sets the flag may need it.
inline void isthmus_pause() { std::this_thread::yield(); }

// NOLINTBEGIN(readability-identifier-naming): CUDA's names
inline void __syncthreads() {}
inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence() { __threadfence_system(); }

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
