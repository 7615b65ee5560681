#include "sim/cores/cta_feed.hpp"

#include <string>
#include <utility>

#include <isthmus/errors.hpp>

namespace isthmus::sim {
namespace {

// Reserves the exact size: a growing vector would take twice the memory of large CTAs.
template <class Item>
void resize_exactly(std::vector<Item>& items, std::size_t size) {
  if (items.capacity() < size) {
    items = {};
    items.reserve(size);
  }
  items.resize(size);
}

}  // namespace

CtaFeed::CtaFeed(trace::Source& source, AddressMap& map, std::function<void()> placed)
    : source_(source), map_(map), placed_(std::move(placed)) {
  source_.rewind();
}

void CtaFeed::begin_launch(std::uint32_t index) {
  launch_index_ = index;
  next_cta_ = 0;
  warps_per_cta_ = program().launches[index].warps_per_cta;
}

std::optional<std::uint32_t> CtaFeed::next(const CtaPlace& place, CtaWork& work) {
  const trace::Launch& launch = program().launches[launch_index_];
  if (next_cta_ == launch.num_ctas) return std::nullopt;
  if (!have_block()) fail("ends");
  if (block_.launch != launch_index_) {
    fail("has a block of launch " + std::to_string(block_.launch));
  }
  if (block_.first_cta + next_in_block_ != next_cta_) {
    fail("has a block that begins with CTA " + std::to_string(block_.first_cta));
  }
  const std::uint32_t first_warp = next_in_block_ * warps_per_cta_;
  const Extent cta = extent(first_warp);
  if (is_read_in_windows(cta, place)) {
    begin_windows(first_warp, cta, place, work);
  } else {
    hold(first_warp, cta, place, work);
  }
  placed_();
  ++next_in_block_;
  return next_cta_++;
}

void CtaFeed::check_end() {
  if (!have_block()) return;
  throw UsageError(
      "the trace goes on after the last launch of its program, with a block of launch " +
      std::to_string(block_.launch));
}

bool CtaFeed::have_block() {
  while (next_in_block_ == block_.num_ctas) {
    const auto block = source_.next();
    if (!block) return false;
    block_ = *block;
    next_in_block_ = 0;
  }
  return true;
}

CtaFeed::Extent CtaFeed::extent(std::uint32_t first_warp) const {
  const std::uint32_t first = block_.op_begin[first_warp];
  const std::uint32_t end = block_.op_begin[first_warp + warps_per_cta_];
  const std::uint32_t first_line = block_.line_begin[first];
  return {first, end, first_line, block_.line_begin[end] - first_line};
}

CtaFeed::LocalMemory CtaFeed::local_memory(const CtaPlace& place) const {
  const std::uint64_t cta_column = place.core + std::uint64_t{place.num_cores} * place.slot;
  return {kLocalBase / trace::kLineBytes + cta_column * warps_per_cta_,
          std::uint64_t{place.num_cores} * place.slots_per_core * warps_per_cta_};
}

WarpWork CtaFeed::begin(CtaWork& work, std::uint32_t warp) {
  if (!work.windows.empty()) return next_window(work, warp);
  return {&work.operations[work.first_operation[warp]], work.lines.data()};
}

void CtaFeed::hold(std::uint32_t first_warp, const Extent& extent, const CtaPlace& place,
                   CtaWork& work) {
  const trace::Block& block = block_;
  const std::uint32_t first = extent.first_operation;
  const std::uint32_t end = extent.end_operation;
  work.windows.clear();
  resize_exactly(work.operations, std::size_t{end} - first + 1);
  Operation* operation = work.operations.data();
  bool any_local = false;
  for (std::uint32_t op = first; op < end; ++op, ++operation) {
    const auto kind = static_cast<trace::OpKind>(block.kinds[op]);
    *operation = {block.compute[op], block.line_begin[op] - extent.first_line, kind};
    any_local = any_local || trace::is_local(kind);
  }
  *operation = {0, extent.num_lines, trace::OpKind::end};
  work.first_operation.clear();
  for (std::uint32_t warp = 0; warp < warps_per_cta_; ++warp) {
    work.first_operation.push_back(block.op_begin[first_warp + warp] - first);
  }
  work.first_operation.push_back(end - first);
  resize_exactly(work.lines, extent.num_lines);
  const auto lines = block.lines.subspan(extent.first_line, extent.num_lines);
  if (any_local) return place_with_local(lines, place, work);
  map_.place(lines, work.lines.data());
}

void CtaFeed::place_with_local(std::span<const std::uint64_t> lines, const CtaPlace& place,
                               CtaWork& work) {
  const LocalMemory local = local_memory(place);
  real_lines_.assign(lines.begin(), lines.end());
  for (std::uint32_t warp = 0; warp < warps_per_cta_; ++warp) {
    for (std::uint32_t op = work.first_operation[warp]; op < work.first_operation[warp + 1]; ++op) {
      if (!trace::is_local(work.operations[op].kind)) continue;
      const std::uint32_t end = work.operations[op + 1].first_line;
      for (std::uint32_t line = work.operations[op].first_line; line < end; ++line) {
        real_lines_[line] = local.line(warp, real_lines_[line]);
      }
    }
  }
  map_.place(real_lines_, work.lines.data());
}

void CtaFeed::fail(const std::string& what) const {
  throw UsageError("the trace " + what + " where CTA " + std::to_string(next_cta_) + " of launch " +
                   std::to_string(launch_index_) + " ('" + program().launches[launch_index_].name +
                   "') should be: it is incomplete, or its program says otherwise");
}

}  // namespace isthmus::sim
