// The bytes of a file that is saved: those of many arrays, one after the other.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace isthmus::transfer {

/// The device of memory that the CPU reads.
inline constexpr int kOnHost = -1;

/// The bytes of one array.
struct SavedRange {
  const std::byte* memory = nullptr;
  std::size_t size_bytes = 0;
  int device = kOnHost;  ///< the ordinal of its GPU
  std::string name;      ///< in messages: "tensor 'head'"
};

/// Some bytes of a range, as a part of a piece of the file.
struct SavedSegment {
  const SavedRange* range = nullptr;
  const std::byte* memory = nullptr;
  std::size_t size_bytes = 0;
  std::size_t place = 0;  ///< its offset in the piece
};

/// Ranges that follow each other in a file, without gaps.
class SavedBytes {
public:
  explicit SavedBytes(std::vector<SavedRange> ranges);

  const std::vector<SavedRange>& ranges() const noexcept { return ranges_; }
  std::size_t size_bytes() const noexcept { return ends_.empty() ? 0 : ends_.back(); }
  /// What the bytes [begin, begin + size_bytes) of the file consist of, in their order.
  std::vector<SavedSegment> segments(std::size_t begin, std::size_t size_bytes) const;

private:
  std::vector<SavedRange> ranges_;
  std::vector<std::size_t> ends_;  // of each range, in the file
};

}  // namespace isthmus::transfer
