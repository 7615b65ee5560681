// Work that depends on the bytes of a copy: moves them inside the device, and stays busy for a
// given time. measure/overlap.cpp overlaps copies with it.
//
// Launch: any grid whose blocks are all resident at once. Each lane moves 16 bytes an iteration.
#include "portable.cuh"

struct alignas(16) IsthmusWorkWord {
  uint64_t low, high;
};

/// source        device, [size_bytes], 16-byte aligned
/// target        device, [size_bytes], 16-byte aligned
/// size_bytes    a multiple of 16
/// duration_ns   how long each lane runs at least
extern "C" __global__ void isthmus_work(const uint8_t* source, uint8_t* target, uint64_t size_bytes,
                                        uint64_t duration_ns) {
  const uint64_t start_ns = isthmus_now_ns();
  const uint64_t num_words = size_bytes / sizeof(IsthmusWorkWord);
  const IsthmusWorkWord* from = reinterpret_cast<const IsthmusWorkWord*>(source);
  IsthmusWorkWord* to = reinterpret_cast<IsthmusWorkWord*>(target);
  for (uint64_t i = isthmus_lane(); i < num_words; i += isthmus_num_lanes()) to[i] = from[i];
  while (isthmus_now_ns() - start_ns < duration_ns) {
  }
}
