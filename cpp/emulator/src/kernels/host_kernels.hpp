// Compiles kernels/*.cu for the CPU: provides the CUDA C++ that kernels use, in plain C++.
//
// Included by kernels/portable.cuh when ISTHMUS_HOST_KERNELS is defined. A launch is one lane here,
// whatever its grid: our kernels' loops are grid-stride, so the result is the same, and a CPU is
// fast when one lane goes through memory in order.
#pragma once

#include <algorithm>
#include <atomic>

#include "kernels/host_language.hpp"
#include "kernels/kernel_traffic.hpp"

#define __global__ __attribute__((visibility("hidden")))
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static thread_local  // kernels run concurrently, each in a thread

// NOLINTBEGIN(readability-identifier-naming): CUDA's names
inline constexpr IsthmusIndex gridDim{1, 1, 1};
inline constexpr IsthmusIndex blockIdx{0, 0, 0};
inline constexpr IsthmusIndex blockDim{1, 1, 1};
inline constexpr IsthmusIndex threadIdx{0, 0, 0};

inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence() { __threadfence_system(); }
// NOLINTEND(readability-identifier-naming)
