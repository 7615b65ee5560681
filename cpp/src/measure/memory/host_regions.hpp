// Pieces of host memory that a loop copies from or to in turn, warm or cold.
#pragma once

#include <optional>

#include "host/memory/huge_mapping.hpp"

namespace isthmus::measure {

/// The host's side of a loop: one piece, used repeatedly, or so many that each can be evicted from
/// the caches and all copied back to back.
class HostRegions {
public:
  /// Throws   UsageError (size), Unavailable (cold, if programs can't evict).
  HostRegions(std::size_t size_bytes, bool cold, std::optional<int> numa_node);

  std::size_t count() const noexcept { return count_; }
  std::byte* operator[](std::size_t index) const noexcept {
    return buffer_.data() + index * stride_bytes_;
  }

  /// Writes the same bytes into every piece.
  ///
  /// bytes    host, as many as a piece has
  void fill(const std::byte* bytes) const;
  void fill(unsigned char byte) const;
  /// Evicts the pieces from the caches, if they should be cold.
  void make_ready() const;

private:
  std::size_t size_bytes_;
  std::size_t stride_bytes_;
  std::size_t count_;
  bool cold_;
  host::PageableBuffer buffer_;
};

}  // namespace isthmus::measure
