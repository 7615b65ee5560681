// Which memory a trace touches, for traces that don't record allocations.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/trace.hpp"

namespace isthmus::trace {

/// Collects lines, and derives what must have been allocated. Takes about 2 KiB for each 2 MiB that
/// contain a touched line: 1/1000 of the program's memory.
class TouchedLines {
public:
  /// Lines closer than this are assumed to belong to one allocation. Source:
  /// docs/adr/0005-windows.md: cuMemAlloc maps memory in blocks of 2 MiB, and small allocations
  /// share one.
  static constexpr std::uint64_t kBlockBytes = std::uint64_t{2} << 20U;
  /// 512 GiB, like the simulator: it limits what a text of some megabytes can make this store.
  static constexpr std::size_t kMaxBlocks = std::size_t{1} << 18U;

  explicit TouchedLines(std::size_t max_blocks = kMaxBlocks) : max_blocks_(max_blocks) {}

  /// Throws      UsageError for a line that needs more than kMaxBlocks blocks.
  void add(std::uint64_t line);

  /// The extents of the explicit copies, merged if they overlap; and runs of touched lines outside
  /// all copies, none of which spans a copy. Sorted by address, and named by their position:
  /// "upload-0", "touched-1", ...
  std::vector<Allocation> allocations(const std::vector<HostStep>& uploads) const;

private:
  static constexpr std::uint64_t kLinesPerBlock = kBlockBytes / kLineBytes;
  using Block = std::bitset<kLinesPerBlock>;

  std::vector<std::uint64_t> sorted_blocks() const;

  std::size_t max_blocks_;
  std::unordered_map<std::uint64_t, Block> blocks_;
  // The block of the last line: most lines lie in the same.
  std::uint64_t last_number_ = ~std::uint64_t{0};
  Block* last_ = nullptr;
};

}  // namespace isthmus::trace
