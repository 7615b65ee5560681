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

std::uint32_t CtaFeed::next(std::uint32_t launch, const CtaPlace& place, CtaWork& work) {
  Part& part = part_of(launch);
  const trace::Block& block = part.block;
  const std::uint32_t cta = block.first_cta + part.next;
  const std::uint32_t first_warp = part.next++ * warps_per_cta(launch);
  const Extent whole = extent(block, first_warp, warps_per_cta(launch));
  work.launch = launch;
  work.place = place;
  if (is_read_in_windows(block, whole, place)) {
    begin_windows(block, first_warp, whole, work);
  } else {
    hold(block, first_warp, whole, work);
  }
  placed_();
  if (&part != &last_ && part.next == block.num_ctas) kept_[launch].pop_front();
  return cta;
}

// The source has blocks in order: those of earlier launches that stand between are kept.
CtaFeed::Part& CtaFeed::part_of(std::uint32_t launch) {
  if (const auto kept = kept_.find(launch); kept != kept_.end()) {
    if (!kept->second.empty()) return kept->second.front().part;
  }
  while (last_.next == last_.block.num_ctas || last_.block.launch != launch) {
    if (last_.next != last_.block.num_ctas) {
      std::deque<KeptPart>& kept = kept_[last_.block.launch];
      kept.push_back({trace::BlockCopy(last_.block), {}});
      kept.back().part = {kept.back().copy.block(), last_.next};
      last_.next = last_.block.num_ctas;
    }
    if (!have_block()) fail("ends");
  }
  return last_;
}

void CtaFeed::check_end() {
  if (!have_block()) return;
  throw UsageError(
      "the trace goes on after the last launch of its program, with a block of launch " +
      std::to_string(last_.block.launch));
}

bool CtaFeed::have_block() {
  while (last_.next == last_.block.num_ctas) {
    const auto block = source_.next();
    if (!block) return false;
    last_ = {*block, 0};
    if (due_launch_ == program().launches.size()) return true;
    check_order(*block);
    due_cta_ += block->num_ctas;
    if (due_cta_ != program().launches[due_launch_].num_ctas) continue;
    ++due_launch_;
    due_cta_ = 0;
  }
  return true;
}

void CtaFeed::check_order(const trace::Block& block) const {
  if (block.launch != due_launch_) {
    fail("has a block of launch " + std::to_string(block.launch));
  }
  if (block.first_cta != due_cta_) {
    fail("has a block that begins with CTA " + std::to_string(block.first_cta));
  }
  if (block.num_ctas > program().launches[due_launch_].num_ctas - due_cta_) {
    fail("has a block of " + std::to_string(block.num_ctas) + " CTAs");
  }
}

CtaFeed::Extent CtaFeed::extent(const trace::Block& block, std::uint32_t first_warp,
                                std::uint32_t warps_per_cta) {
  const std::uint32_t first = block.op_begin[first_warp];
  const std::uint32_t end = block.op_begin[first_warp + warps_per_cta];
  const std::uint32_t first_line = block.line_begin[first];
  return {first, end, first_line, block.line_begin[end] - first_line};
}

CtaFeed::LocalMemory CtaFeed::local_memory(const CtaWork& work) const {
  // A stream's part of the address space, in lines: 32 TiB, more than any kernel has.
  constexpr std::uint64_t stream_lines = std::uint64_t{1} << 38U;
  const CtaPlace& place = work.place;
  const std::uint64_t warps = warps_per_cta(work.launch);
  const std::uint64_t cta_column = place.core + std::uint64_t{place.num_cores} * place.slot;
  return {kLocalBase / trace::kLineBytes + place.stream * stream_lines + cta_column * warps,
          std::uint64_t{place.num_cores} * place.slots_per_core * warps};
}

WarpWork CtaFeed::begin(CtaWork& work, std::uint32_t warp) {
  if (!work.windows.empty()) return next_window(work, warp);
  return {&work.operations[work.first_operation[warp]], work.lines.data()};
}

void CtaFeed::hold(const trace::Block& block, std::uint32_t first_warp, const Extent& extent,
                   CtaWork& work) {
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
  const std::uint32_t warps = warps_per_cta(work.launch);
  for (std::uint32_t warp = 0; warp < warps; ++warp) {
    work.first_operation.push_back(block.op_begin[first_warp + warp] - first);
  }
  work.first_operation.push_back(end - first);
  resize_exactly(work.lines, extent.num_lines);
  const auto lines = block.lines.subspan(extent.first_line, extent.num_lines);
  if (any_local) return place_with_local(lines, work);
  map_.place(lines, work.lines.data());
}

void CtaFeed::place_with_local(std::span<const std::uint64_t> lines, CtaWork& work) {
  const LocalMemory local = local_memory(work);
  real_lines_.assign(lines.begin(), lines.end());
  for (std::uint32_t warp = 0; warp + 1 < work.first_operation.size(); ++warp) {
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
  throw UsageError("the trace " + what + " where CTA " + std::to_string(due_cta_) + " of launch " +
                   std::to_string(due_launch_) + " ('" + program().launches[due_launch_].name +
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
bool CtaFeed::is_read_in_windows(const trace::Block& block, const Extent& extent,
                                 const CtaPlace& place) {
  if (block.stored.store == nullptr) return false;
  const std::uint64_t num_operations = extent.end_operation - extent.first_operation;
  const std::uint64_t bytes =
      num_operations * sizeof(Operation) + extent.num_lines * sizeof(PlacedLine);
  return bytes > max_held_bytes(place.num_cores, place.slots_per_core);
}

void CtaFeed::begin_windows(const trace::Block& block, std::uint32_t first_warp,
                            const Extent& extent, CtaWork& work) {
  work.first_operation = {};
  work.operations = {};
  work.lines = {};
  work.stored = block.stored;
  const std::uint32_t warps = warps_per_cta(work.launch);
  work.windows.resize(warps);
  for (std::uint32_t warp = 0; warp < warps; ++warp) {
    WarpWindow& window = work.windows[warp];
    window.next_operation = block.op_begin[first_warp + warp];
    window.end_operation = block.op_begin[first_warp + warp + 1];
    window.operations.reserve(kWindowOperations + 1);
    window.lines.reserve(kWindowLines);
  }
  number_chunks(block, first_warp, extent, work);
}

// In the order in which hold() would number them, so that line numbers, and therefore results, are
// the same.
void CtaFeed::number_chunks(const trace::Block& block, std::uint32_t first_warp,
                            const Extent& extent, const CtaWork& work) {
  const auto kinds =
      block.kinds.subspan(extent.first_operation, extent.end_operation - extent.first_operation);
  const bool any_local = std::ranges::any_of(
      kinds, [](std::uint8_t kind) { return trace::is_local(static_cast<trace::OpKind>(kind)); });
  if (!any_local) {
    return map_.number_chunks(block.lines.subspan(extent.first_line, extent.num_lines));
  }
  const LocalMemory local = local_memory(work);
  for (std::uint32_t warp = 0; warp < work.windows.size(); ++warp) {
    const std::uint32_t end = block.op_begin[first_warp + warp + 1];
    for (std::uint32_t op = block.op_begin[first_warp + warp]; op < end; ++op) {
      const std::uint32_t first_line = block.line_begin[op];
      const auto lines = block.lines.subspan(first_line, block.line_begin[op + 1] - first_line);
      if (!trace::is_local(static_cast<trace::OpKind>(block.kinds[op]))) {
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
  if (window.next_operation >= window.end_operation) fail_changed(work);
  const std::uint64_t first_line = read_operations(work, window);
  read_lines(work, warp, first_line, window);
  placed_();
  return {window.operations.data(), window.lines.data()};
}

// Returns the index of the first line in the block.
std::uint64_t CtaFeed::read_operations(const CtaWork& work, WarpWindow& window) {
  const trace::StoredBlock& stored = work.stored;
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
    if (line_begin[count + 1] < line_begin[count]) fail_changed(work);
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
  const LocalMemory local = local_memory(work);
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

void CtaFeed::fail_changed(const CtaWork& work) {
  throw UsageError("the trace was changed while it was simulated, in launch " +
                   std::to_string(work.launch) + ": keep its file as it is until the end");
}

}  // namespace isthmus::sim
