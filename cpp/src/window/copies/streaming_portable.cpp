#include <algorithm>

#include "window/copies/streaming_ways.hpp"

namespace isthmus::window {
namespace {

void copy_lines(std::byte* target, const std::byte* source, std::size_t num_lines) {
  for (std::size_t i = 0; i < num_lines; ++i) {
    copy_few(target + i * kLineBytes, source + i * kLineBytes, kLineBytes);
  }
}

// Not read_range: here each load costs a round trip, so an end is read with as few loads as
// possible instead of with its whole line.
void read(void* target, const void* source, std::size_t size_bytes) {
  auto* to = static_cast<std::byte*>(target);
  const auto* from = static_cast<const std::byte*>(source);
  const std::size_t to_line = (kLineBytes - bytes_into_line(from)) % kLineBytes;
  const std::size_t head = std::min(size_bytes, to_line);
  const std::size_t tail = (size_bytes - head) % kLineBytes;
  before_streaming_loads();
  copy_few(to, from, head);
  copy_lines(to + head, from + head, (size_bytes - head) / kLineBytes);
  copy_few(to + size_bytes - tail, from + size_bytes - tail, tail);
  load_fence();
}

}  // namespace

constinit const StreamingCopy kPortableCopy{"portable", write_range<copy_lines>, read};

}  // namespace isthmus::window
