// Follows a chain of addresses, each load depending on the one before: the latency of one load.
//
// Launch: <<<1, 1>>>.
#include "portable.cuh"

/// first       address of the chain's beginning: device memory, or pinned host memory mapped on it.
///             Each link is the address of the next as the device sees it, at the beginning of a
///             line
/// num_links   the number of links to follow
/// answer      device, [2]; set to the sum of the addresses read, and to the last of them
extern "C" __global__ void isthmus_pointer_chase(uint64_t first, uint64_t num_links,
                                                 uint64_t* answer) {
  uint64_t link = first;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < num_links; ++i) {
    isthmus_note_read(reinterpret_cast<const void*>(link), sizeof link);
    isthmus_await_traffic();
    // Volatile: reads memory each time, not a value that an earlier round left in a cache.
    link = *reinterpret_cast<const volatile uint64_t*>(link);
    sum += link;
  }
  answer[0] = sum;
  answer[1] = link;
}
