// Keeps one multiprocessor busy for a given time: the compute half of an overlap measurement.
//
// Launch: any grid.
#include "portable.cuh"

/// duration_ns   how long each lane runs
extern "C" __global__ void isthmus_spin(uint64_t duration_ns) {
  const uint64_t start_ns = isthmus_now_ns();
  while (isthmus_now_ns() - start_ns < duration_ns) {
  }
}
