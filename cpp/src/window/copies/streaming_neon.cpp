#include "window/copies/streaming_ways.hpp"

#if defined(__aarch64__)

#include <arm_neon.h>

namespace isthmus::window {
namespace {

// One instruction per line, so that the core can gather it into one transaction.
void copy_lines(std::byte* target, const std::byte* source, std::size_t num_lines) {
  auto* to = reinterpret_cast<std::uint8_t*>(target);
  const auto* from = reinterpret_cast<const std::uint8_t*>(source);
  for (std::size_t i = 0; i < num_lines; ++i) {
    vst1q_u8_x4(to + i * kLineBytes, vld1q_u8_x4(from + i * kLineBytes));
  }
}

}  // namespace

constinit const StreamingCopy kNeonCopy{"neon", write_range<copy_lines>, read_range<copy_lines>};

}  // namespace isthmus::window

#endif
