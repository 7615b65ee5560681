#include "trace/recorded.hpp"

namespace isthmus::trace {
namespace {

template <class Element>
std::vector<Element> copy_of(std::span<const Element> elements) {
  return {elements.begin(), elements.end()};
}

template <class Element>
std::uint64_t bytes_of(const std::vector<Element>& elements) {
  return elements.size() * sizeof(Element);
}

}  // namespace

void Recording::add(const Block& block) {
  blocks_.push_back({block.launch, block.first_cta, block.num_ctas, copy_of(block.op_begin),
                     copy_of(block.kinds), copy_of(block.compute), copy_of(block.line_begin),
                     copy_of(block.lines)});
}

std::uint64_t Recording::size_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const Kept& kept : blocks_)
    sum += bytes_of(kept.op_begin) + bytes_of(kept.kinds) + bytes_of(kept.compute) +
           bytes_of(kept.line_begin) + bytes_of(kept.lines);
  return sum;
}

Block Recording::block(std::size_t index) const {
  const Kept& kept = blocks_[index];
  return {kept.launch, kept.first_cta, kept.num_ctas,   kept.op_begin,
          kept.kinds,  kept.compute,   kept.line_begin, kept.lines};
}

std::shared_ptr<const Recording> record(Source& source) {
  source.rewind();
  const auto recording = std::make_shared<Recording>(source.program());
  while (const auto block = source.next()) recording->add(*block);
  return recording;
}

std::optional<Block> Replay::next() {
  if (next_block_ == recording_->num_blocks()) return std::nullopt;
  return recording_->block(next_block_++);
}

}  // namespace isthmus::trace
