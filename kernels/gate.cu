// Holds a stream until the CPU sets a flag: the gate for devices without stream memory operations.
//
// Launch: <<<1, 1>>>.
#include "portable.cuh"

/// flag         pinned host memory mapped on the device, [1]
/// round        the kernel ends when *flag has reached it, counting modulo 2^32 like
///              cuStreamWaitValue32
/// timeout_ns   the kernel always ends after this
extern "C" __global__ void isthmus_gate(const uint32_t* flag, uint32_t round, uint64_t timeout_ns) {
  const uint64_t start_ns = isthmus_now_ns();
  while (int32_t(isthmus_load(flag) - round) < 0 && isthmus_now_ns() - start_ns < timeout_ns) {
    isthmus_pause();
  }
}
