// Collects the operations of CTAs into a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/trace.hpp"

namespace isthmus::trace {

/// Owns the memory of a Block. Warps are added in order, each ended by end_warp().
class BlockBuilder {
public:
  /// A block ends after the CTA that reaches this many operations or lines: some megabytes.
  static constexpr std::uint32_t kFullBlock = 1U << 17U;

  BlockBuilder() { clear(); }

  /// Throws      UsageError at the 2^31st operation or line: a file's offsets have 31 bits.
  void add(OpKind kind, std::uint32_t compute, std::span<const std::uint64_t> lines);
  /// Ends the warp, after `compute` instructions.
  void end_warp(std::uint32_t compute);
  /// Adds a whole warp, whose last operation is its end.
  ///
  /// line_ends   for each operation the end of its lines, counted from the warp's first line
  void add_warp(std::span<const std::uint8_t> kinds, std::span<const std::uint32_t> compute,
                std::span<const std::uint32_t> line_ends, std::span<const std::uint64_t> lines);
  void end_cta() { ++num_ctas_; }
  /// Removes the operations; keeps the memory.
  void clear();

  std::uint32_t num_ctas() const { return num_ctas_; }
  bool full() const { return kinds_.size() >= kFullBlock || lines_.size() >= kFullBlock; }
  /// The collected block, valid until the next call of any other function.
  Block block(std::uint32_t launch, std::uint32_t first_cta) const;

private:
  void require_room(std::size_t num_operations, std::size_t num_lines) const;

  std::uint32_t num_ctas_ = 0;
  std::vector<std::uint32_t> op_begin_;
  std::vector<std::uint8_t> kinds_;
  std::vector<std::uint32_t> compute_;
  std::vector<std::uint32_t> line_begin_;
  std::vector<std::uint64_t> lines_;
};

}  // namespace isthmus::trace
