// The basis of all kernels in this folder, so that one source compiles for a GPU with NVRTC and for
// the CPU inside the emulated driver (which defines ISTHMUS_HOST_KERNELS and supplies threadIdx and
// similar).
//
// Rules: entry points are extern "C" and named isthmus_<file>_<what>. Loops are grid-stride, so
// that any grid gives the same result and the emulated driver may run blocks of one lane. Loops
// that wait have a deadline, so that no kernel can hang a GPU. Before a kernel accesses memory that
// may be the host's, it notes how much, each launch or round once.
#pragma once

#ifdef ISTHMUS_HOST_KERNELS
#include "kernels/host_kernels.hpp"
#else

using uint8_t = unsigned char;
using int32_t = int;
using int64_t = long long;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;

/// Nanoseconds of the device's global timer. Its resolution is 32 ns to 1 us, depending on the
/// device.
__device__ inline uint64_t isthmus_now_ns() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ inline void isthmus_pause() { __nanosleep(20); }

// Kernels note what they access, for the emulated driver: it models the time of what crosses the
// link. What is noted after await_traffic depends on what was noted before. A GPU takes its own time,
// so there these are nothing.
__device__ inline void isthmus_note_read(const void*, uint64_t) {}
__device__ inline void isthmus_note_write(const void*, uint64_t) {}
__device__ inline void isthmus_await_traffic() {}

#endif

/// Index of this lane in the grid, and the number of lanes.
__device__ inline uint64_t isthmus_lane() {
  return uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline uint64_t isthmus_num_lanes() { return uint64_t(gridDim.x) * blockDim.x; }

/// Reads memory that the CPU or a copy engine may change at any time.
__device__ inline uint32_t isthmus_load(const uint32_t* flag) {
  isthmus_note_read(flag, sizeof *flag);
  isthmus_await_traffic();
  return *reinterpret_cast<const volatile uint32_t*>(flag);
}

/// Writes memory that the CPU may be polling, and makes it visible to the whole system.
__device__ inline void isthmus_publish(uint32_t* flag, uint32_t value) {
  isthmus_note_write(flag, sizeof *flag);
  isthmus_await_traffic();
  *reinterpret_cast<volatile uint32_t*>(flag) = value;
  __threadfence_system();
}
