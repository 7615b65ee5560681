// The words of pages that are neither entirely on the host nor entirely on the GPU.
#pragma once

#include <cstdint>
#include <vector>

namespace isthmus::pages {

/// Blocks of equal length, addressed by number; freed blocks are reused.
class WordArena {
public:
  explicit WordArena(std::uint32_t words_per_block) : stride_(words_per_block) {}

  /// Returns a block of zeros. Pointers to other blocks may become invalid.
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
