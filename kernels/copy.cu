// SM copies. Either side may be pinned host memory mapped on the device; the kernel then reads and
// writes it directly (zero-copy).
//
// Launch: any grid. If both sides are aligned to 16 bytes, each lane moves 64 bytes an iteration.
#include "portable.cuh"

/// Loads everything before it stores: several loads in flight in each lane hide the latency of the
/// link.
__device__ inline void isthmus_copy_quads(const uint4* source, uint4* target, uint64_t num_quads) {
  const uint64_t lanes = isthmus_num_lanes();
  uint64_t i = isthmus_lane();
  for (; i + 3 * lanes < num_quads; i += 4 * lanes) {
    const uint4 first = source[i];
    const uint4 second = source[i + lanes];
    const uint4 third = source[i + 2 * lanes];
    const uint4 fourth = source[i + 3 * lanes];
    target[i] = first;
    target[i + lanes] = second;
    target[i + 2 * lanes] = third;
    target[i + 3 * lanes] = fourth;
  }
  for (; i < num_quads; i += lanes) target[i] = source[i];
}

/// source      device, or pinned host memory mapped on it, [size_bytes], any alignment
/// target      the same; must not overlap
extern "C" __global__ void isthmus_copy(const uint8_t* source, uint8_t* target,
                                        uint64_t size_bytes) {
  isthmus_note_read(source, size_bytes);
  isthmus_note_write(target, size_bytes);
  uint64_t done = 0;
  if ((reinterpret_cast<uint64_t>(source) | reinterpret_cast<uint64_t>(target)) % 16 == 0) {
    isthmus_copy_quads(reinterpret_cast<const uint4*>(source), reinterpret_cast<uint4*>(target),
                       size_bytes / 16);
    done = size_bytes / 16 * 16;
  }
  for (uint64_t i = done + isthmus_lane(); i < size_bytes; i += isthmus_num_lanes()) {
    target[i] = source[i];
  }
}
