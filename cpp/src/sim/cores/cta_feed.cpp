// CTAs that are too large to hold: their warps' next operations are read again from the trace's
// store.
#include "sim/cores/cta_feed.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
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

namespace {

template <class Item>
void read(const trace::StoredBlock& stored, std::uint64_t array_offset, std::uint64_t first,
          std::span<Item> items) {
  stored.store->read(array_offset + first * sizeof(Item), std::as_writable_bytes(items));
}

template <class Item>
std::size_t bytes_of(const std::vector<Item>& items) {
  return items.capacity() * sizeof(Item);
}

}  // namespace

std::size_t CtaWork::held_bytes() const {
  std::size_t bytes = bytes_of(first_operation) + bytes_of(operations) + bytes_of(lines);
  bytes += bytes_of(windows);
  for (const WarpWindow& window : windows) {
    bytes += bytes_of(window.operations) + bytes_of(window.lines);
  }
  return bytes;
}

// True if the CTA exceeds its share of the limit for all running CTAs.
bool CtaFeed::is_read_in_windows(const Extent& extent, const CtaPlace& place) const {
  if (block_.stored.store == nullptr) return false;
  const std::uint64_t num_operations = extent.end_operation - extent.first_operation;
  const std::uint64_t bytes =
      num_operations * sizeof(Operation) + extent.num_lines * sizeof(PlacedLine);
  return bytes > max_held_bytes(place.num_cores, place.slots_per_core);
}

void CtaFeed::begin_windows(std::uint32_t first_warp, const Extent& extent, const CtaPlace& place,
                            CtaWork& work) {
  if (work.windows.empty()) work = {};
  work.stored = block_.stored;
  work.place = place;
  work.windows.resize(warps_per_cta_);
  for (std::uint32_t warp = 0; warp < warps_per_cta_; ++warp) {
    WarpWindow& window = work.windows[warp];
    window.next_operation = block_.op_begin[first_warp + warp];
    window.end_operation = block_.op_begin[first_warp + warp + 1];
    window.operations.reserve(kWindowOperations + 1);
    window.lines.reserve(kWindowLines);
  }
  number_chunks(first_warp, extent, place);
}

// In the order in which hold() would number them, so that line numbers, and therefore results, are
// the same.
void CtaFeed::number_chunks(std::uint32_t first_warp, const Extent& extent, const CtaPlace& place) {
  const auto kinds =
      block_.kinds.subspan(extent.first_operation, extent.end_operation - extent.first_operation);
  const bool any_local = std::ranges::any_of(
      kinds, [](std::uint8_t kind) { return trace::is_local(static_cast<trace::OpKind>(kind)); });
  if (!any_local) {
    return map_.number_chunks(block_.lines.subspan(extent.first_line, extent.num_lines));
  }
  const LocalMemory local = local_memory(place);
  for (std::uint32_t warp = 0; warp < warps_per_cta_; ++warp) {
    const std::uint32_t end = block_.op_begin[first_warp + warp + 1];
    for (std::uint32_t op = block_.op_begin[first_warp + warp]; op < end; ++op) {
      const std::uint32_t first_line = block_.line_begin[op];
      const auto lines = block_.lines.subspan(first_line, block_.line_begin[op + 1] - first_line);
      if (!trace::is_local(static_cast<trace::OpKind>(block_.kinds[op]))) {
        map_.number_chunks(lines);
        continue;
      }
      for (const std::uint64_t word : lines) {
        const std::uint64_t line = local.line(warp, word);
        map_.number_chunks({&line, 1});
      }
    }
  }
}

WarpWork CtaFeed::next_window(CtaWork& work, std::uint32_t warp) {
  WarpWindow& window = work.windows[warp];
  if (window.next_operation >= window.end_operation) fail_changed();
  const std::uint64_t first_line = read_operations(work.stored, window);
  read_lines(work, warp, first_line, window);
  placed_();
  return {window.operations.data(), window.lines.data()};
}

// Returns the index of the first line in the block.
std::uint64_t CtaFeed::read_operations(const trace::StoredBlock& stored, WarpWindow& window) {
  std::array<std::uint8_t, kWindowOperations> kinds;
  std::array<std::uint32_t, kWindowOperations> compute;
  std::array<std::uint32_t, kWindowOperations + 1> line_begin;
  const std::uint32_t first = window.next_operation;
  const std::size_t most = std::min(kWindowOperations, window.end_operation - first);
  read(stored, stored.kinds_offset, first, std::span(kinds).first(most));
  read(stored, stored.compute_offset, first, std::span(compute).first(most));
  read(stored, stored.line_begin_offset, first, std::span(line_begin).first(most + 1));
  window.operations.clear();
  std::size_t count = 0;
  for (; count < most; ++count) {
    if (line_begin[count + 1] < line_begin[count]) fail_changed();
    if (count != 0 && line_begin[count + 1] - line_begin[0] > kWindowLines) break;
    window.operations.push_back({compute[count], line_begin[count] - line_begin[0],
                                 static_cast<trace::OpKind>(kinds[count])});
  }
  window.operations.push_back({0, line_begin[count] - line_begin[0], trace::OpKind::end, true});
  window.next_operation += static_cast<std::uint32_t>(count);
  return line_begin[0];
}

void CtaFeed::read_lines(const CtaWork& work, std::uint32_t warp, std::uint64_t first_line,
                         WarpWindow& window) {
  real_lines_.resize(window.operations.back().first_line);
  read(work.stored, work.stored.lines_offset, first_line, std::span(real_lines_));
  const LocalMemory local = local_memory(work.place);
  for (std::size_t op = 0; op + 1 < window.operations.size(); ++op) {
    if (!trace::is_local(window.operations[op].kind)) continue;
    const std::uint32_t end = window.operations[op + 1].first_line;
    for (std::uint32_t line = window.operations[op].first_line; line < end; ++line) {
      real_lines_[line] = local.line(warp, real_lines_[line]);
    }
  }
  window.lines.resize(real_lines_.size());
  map_.place(real_lines_, window.lines.data());
}

void CtaFeed::fail_changed() const {
  throw UsageError("the trace was changed while it was simulated, in launch " +
                   std::to_string(launch_index_) + ": keep its file as it is until the end");
}

}  // namespace isthmus::sim
