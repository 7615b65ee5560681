#include "transfer/host_copy.hpp"

#include "window/streaming_copy.hpp"

namespace isthmus::transfer {

void copy_streaming(std::byte* target, const std::byte* source, std::size_t size_bytes) noexcept {
  // What writes to a window well writes past the caches well: the same instructions.
  window::best_streaming_copy().write(target, source, size_bytes);
  window::store_fence();
}

}  // namespace isthmus::transfer
