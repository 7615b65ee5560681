#include "trace/block_builder.hpp"

#include <isthmus/errors.hpp>

#include <cstddef>

namespace isthmus::trace {
namespace {

// Arrow's list offsets are signed, with 32 bits.
constexpr std::size_t kOffsetsEnd = std::size_t{1} << 31U;

}  // namespace

void BlockBuilder::require_room(std::size_t num_operations, std::size_t num_lines) const {
  if (kinds_.size() + num_operations >= kOffsetsEnd || lines_.size() + num_lines >= kOffsetsEnd) {
    throw UsageError("one CTA has 2^31 operations or lines: a block can't hold it");
  }
}

void BlockBuilder::add(OpKind kind, std::uint32_t compute, std::span<const std::uint64_t> lines) {
  require_room(1, lines.size());
  kinds_.push_back(static_cast<std::uint8_t>(kind));
  compute_.push_back(compute);
  lines_.insert(lines_.end(), lines.begin(), lines.end());
  line_begin_.push_back(static_cast<std::uint32_t>(lines_.size()));
}

void BlockBuilder::end_warp(std::uint32_t compute) {
  add(OpKind::end, compute, {});
  op_begin_.push_back(static_cast<std::uint32_t>(kinds_.size()));
}

void BlockBuilder::add_warp(std::span<const std::uint8_t> kinds,
                            std::span<const std::uint32_t> compute,
                            std::span<const std::uint32_t> line_ends,
                            std::span<const std::uint64_t> lines) {
  require_room(kinds.size(), lines.size());
  const auto first_line = static_cast<std::uint32_t>(lines_.size());
  kinds_.insert(kinds_.end(), kinds.begin(), kinds.end());
  compute_.insert(compute_.end(), compute.begin(), compute.end());
  for (const std::uint32_t end : line_ends) line_begin_.push_back(first_line + end);
  lines_.insert(lines_.end(), lines.begin(), lines.end());
  op_begin_.push_back(static_cast<std::uint32_t>(kinds_.size()));
}

void BlockBuilder::clear() {
  num_ctas_ = 0;
  op_begin_.assign(1, 0);
  line_begin_.assign(1, 0);
  kinds_.clear();
  compute_.clear();
  lines_.clear();
}

Block BlockBuilder::block(std::uint32_t launch, std::uint32_t first_cta) const {
  Block block;
  block.launch = launch;
  block.first_cta = first_cta;
  block.num_ctas = num_ctas_;
  block.op_begin = op_begin_;
  block.kinds = kinds_;
  block.compute = compute_;
  block.line_begin = line_begin_;
  block.lines = lines_;
  return block;
}

}  // namespace isthmus::trace
