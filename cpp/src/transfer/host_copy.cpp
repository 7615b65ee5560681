#include "transfer/host_copy.hpp"

#include <algorithm>
#include <cstring>

#include "window/streaming_copy.hpp"

namespace isthmus::transfer {

void copy_cached(std::byte* target, const std::byte* source, std::size_t size_bytes,
                 std::size_t block_bytes) noexcept {
  for (std::size_t begin = 0; begin < size_bytes; begin += block_bytes) {
    std::memcpy(target + begin, source + begin, std::min(block_bytes, size_bytes - begin));
  }
}

void copy_streaming(std::byte* target, const std::byte* source, std::size_t size_bytes) noexcept {
  // What writes to a window well writes past the caches well: the same instructions.
  window::best_streaming_copy().write(target, source, size_bytes);
  window::store_fence();
}

}  // namespace isthmus::transfer
