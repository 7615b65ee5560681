// CTAs that are too large to hold: their warps' next operations are read again from the trace's
// store.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include <isthmus/errors.hpp>

#include "sim/cores/cta_feed.hpp"

namespace isthmus::sim {
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
