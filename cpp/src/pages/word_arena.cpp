#include "pages/word_arena.hpp"

#include <cstring>

namespace isthmus::pages {

std::uint32_t WordArena::allocate() {
  if (free_.empty()) {
    words_.resize(words_.size() + stride_);
    return static_cast<std::uint32_t>(words_.size() / stride_ - 1);
  }
  const std::uint32_t block = free_.back();
  free_.pop_back();
  std::memset((*this)[block], 0, std::size_t{stride_} * sizeof(std::uint64_t));
  return block;
}

}  // namespace isthmus::pages
