#include "trace/block_builder.hpp"

#include <isthmus/errors.hpp>

#include <cstddef>

namespace isthmus::trace {
namespace {

// Arrow's list offsets are signed, of 32 bits.
constexpr std::size_t kOffsetsEnd = std::size_t{1} << 31U;

}  // namespace

void BlockBuilder::add(OpKind kind, std::uint32_t compute, std::span<const std::uint64_t> lines) {
  if (kinds_.size() + 1 >= kOffsetsEnd || lines_.size() + lines.size() >= kOffsetsEnd) {
    throw UsageError("one CTA has 2^31 operations or lines: a block can't hold it");
  }
  kinds_.push_back(static_cast<std::uint8_t>(kind));
  compute_.push_back(compute);
  lines_.insert(lines_.end(), lines.begin(), lines.end());
  line_begin_.push_back(static_cast<std::uint32_t>(lines_.size()));
}

void BlockBuilder::end_warp(std::uint32_t compute) {
  add(OpKind::end, compute, {});
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
