// Which memory a trace touches, where allocations aren't recorded.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/trace.hpp"

namespace isthmus::trace {

/// Collects lines and gives out what must have been allocated. Takes about 2 KiB for each 2 MiB
/// that hold a touched line: 1/1000 of what a program uses.
class TouchedLines {
public:
  /// Lines that lie closer are taken to be of one allocation. Source: docs/adr/0005-windows.md:
  /// cuMemAlloc maps memory in blocks of 2 MiB, and small allocations share one.
  static constexpr std::uint64_t kBlockBytes = std::uint64_t{2} << 20U;
  /// 512 GiB, as the simulator: what a text of some megabytes can make this keep is bounded by it.
  static constexpr std::size_t kMaxBlocks = std::size_t{1} << 18U;

  explicit TouchedLines(std::size_t max_blocks = kMaxBlocks) : max_blocks_(max_blocks) {}

  /// Throws      UsageError for a line in one block more than there may be.
  void add(std::uint64_t line);

  /// The explicit copies' extents as they are, those that overlap together; and runs of touched
  /// lines that no copy covers, none of which reaches across a copy. By address, and named by their
  /// place: "upload-0", "touched-1", ...
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
