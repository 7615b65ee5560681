// Compiles kernels/*.cu for tests in which each thread of the CPU is a block of one lane, so that
// blocks run beside each other. What cpp/emulator/src/kernels/host_kernels.hpp is for the emulator.
#pragma once

#include <atomic>
#include <cstdint>

#include "../../emulator/src/kernels/host_language.hpp"

#define __global__
#define __device__
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static thread_local

// NOLINTBEGIN(readability-identifier-naming): CUDA's names
inline thread_local IsthmusIndex gridDim{1, 1, 1};
inline thread_local IsthmusIndex blockIdx{0, 0, 0};
inline constexpr IsthmusIndex blockDim{1, 1, 1};
inline constexpr IsthmusIndex threadIdx{0, 0, 0};

inline void isthmus_note_read(const void*, uint64_t) {}
inline void isthmus_note_write(const void*, uint64_t) {}
inline void isthmus_await_traffic() {}

/// By a word, which the thread sanitizer understands.
inline void __threadfence_system() {
  static std::atomic<int> word;
  word.fetch_add(1, std::memory_order_seq_cst);
}
inline void __threadfence() { __threadfence_system(); }
// NOLINTEND(readability-identifier-naming)
