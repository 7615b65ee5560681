// The words of pages that are neither the CPU's nor the GPU's.
#pragma once

#include <cstdint>
#include <vector>

namespace isthmus::pages {

/// Blocks of equal length, by number: those given back are used again.
class BlockArena {
public:
  explicit BlockArena(std::uint32_t words_per_block) : stride_(words_per_block) {}

  /// A block of zeros. Pointers to others may change.
  std::uint32_t allocate();
  void free(std::uint32_t block) { free_.push_back(block); }

  std::uint64_t* operator[](std::uint32_t block) {
    return words_.data() + static_cast<std::size_t>(block) * stride_;
  }
  const std::uint64_t* operator[](std::uint32_t block) const {
    return words_.data() + static_cast<std::size_t>(block) * stride_;
  }

private:
  std::uint32_t stride_;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> free_;
};

}  // namespace isthmus::pages
