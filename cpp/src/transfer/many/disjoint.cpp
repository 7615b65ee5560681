#include "transfer/many/disjoint.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "transfer/many/refused_copy.hpp"

namespace isthmus::transfer {
namespace {

TouchedRange range_of(const void* memory, std::size_t size_bytes, std::size_t copy, bool written) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  return {begin, begin + size_bytes, copy, written};
}

/// True if every source is on the other side of the link than every target.
bool all_cross_alike(std::span<const Member> members) {
  const Direction direction = members.front().task.crossing.direction;
  return std::ranges::all_of(members, [&](const Member& member) {
    return member.task.crosses && member.task.crossing.direction == direction;
  });
}

[[noreturn]] void refuse(const TouchedRange& one, const TouchedRange& other) {
  if (one.copy == other.copy)
    throw RefusedCopy(one.copy, "its source and its target overlap; copy through a third buffer");
  const std::size_t first = std::min(one.copy, other.copy);
  const std::size_t second = std::max(one.copy, other.copy);
  if (one.written && other.written)
    throw RefusedCopy(second, "its target overlaps the target of ", first,
                      ", and only one of the two could remain");
  throw RefusedCopy(second, "one of its ends overlaps an end of ", first,
                    ", and one of the two writes there: the copies of a call have no order");
}

}  // namespace

void require_disjoint(std::vector<TouchedRange> ranges) {
  if (ranges.empty()) return;
  const auto by_begin = [](const TouchedRange& one, const TouchedRange& other) {
    return one.begin < other.begin;
  };
  if (!std::ranges::is_sorted(ranges, by_begin)) std::ranges::sort(ranges, by_begin);
  // The ranges that reach furthest so far: of all, and of those that are written.
  TouchedRange furthest = ranges.front();
  TouchedRange furthest_written = furthest.written ? furthest : TouchedRange{};
  for (const TouchedRange& range : std::span(ranges).subspan(1)) {
    if (range.written && range.begin < furthest.end) refuse(furthest, range);
    if (range.begin < furthest_written.end) refuse(furthest_written, range);
    if (range.end > furthest.end) furthest = range;
    if (range.written && range.end > furthest_written.end) furthest_written = range;
  }
}

void require_disjoint(std::span<const Member> members) {
  if (members.size() < 2) return;
  const bool targets_alone = all_cross_alike(members);
  std::vector<TouchedRange> ranges;
  ranges.reserve(members.size() * (targets_alone ? 1 : 2));
  for (std::size_t i = 0; i < members.size(); ++i) {
    const CopyEnds& ends = members[i].task.ends;
    ranges.push_back(range_of(ends.target, ends.size_bytes, i, true));
    if (!targets_alone) ranges.push_back(range_of(ends.source, ends.size_bytes, i, false));
  }
  require_disjoint(std::move(ranges));
}

}  // namespace isthmus::transfer
