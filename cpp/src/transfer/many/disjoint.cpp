#include "transfer/many/disjoint.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace isthmus::transfer {
namespace {

TouchedRange range_of(const void* memory, std::size_t size_bytes, std::size_t copy, bool written) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  return {begin, begin + size_bytes, copy, written};
}

/// True if two ranges get the same bytes where they overlap.
bool is_same_copy(const TouchedRange& one, const TouchedRange& other) {
  return one.source != 0 && other.source != 0 &&
         one.begin - one.source == other.begin - other.source;
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

std::vector<Repeated> require_disjoint(std::vector<TouchedRange> ranges) {
  const auto by_begin = [](const TouchedRange& one, const TouchedRange& other) {
    return one.begin < other.begin;
  };
  if (!std::ranges::is_sorted(ranges, by_begin)) std::ranges::sort(ranges, by_begin);
  std::vector<Repeated> repeated;
  // The ranges that reach furthest so far.
  TouchedRange read;
  TouchedRange written;
  for (const TouchedRange& range : ranges) {
    if (range.written && range.begin < read.end) refuse(read, range);
    if (range.begin < written.end) {
      if (!range.written || !is_same_copy(written, range)) refuse(written, range);
      repeated.push_back(
          {range.copy, written.copy, std::min(written.end, range.end) - range.begin});
    }
    TouchedRange& furthest = range.written ? written : read;
    if (range.end > furthest.end) furthest = range;
  }
  return repeated;
}

void make_disjoint(std::vector<Member>& members) {
  if (members.size() < 2) return;
  const bool targets_alone = all_cross_alike(members);
  std::vector<TouchedRange> ranges;
  ranges.reserve(members.size() * (targets_alone ? 1 : 2));
  for (std::size_t i = 0; i < members.size(); ++i) {
    const CopyEnds& ends = members[i].task.ends;
    ranges.push_back(range_of(ends.target, ends.size_bytes, i, true));
    ranges.back().source = reinterpret_cast<std::uintptr_t>(ends.source);
    if (!targets_alone) ranges.push_back(range_of(ends.source, ends.size_bytes, i, false));
  }
  const std::vector<Repeated> repeated = require_disjoint(std::move(ranges));
  if (repeated.empty()) return;
  for (const Repeated& part : repeated) {
    if (members[part.copy].request.stream != members[part.other].request.stream)
      throw RefusedCopy(part.copy, "its target is also that of ", part.other,
                        ", in another stream: the copies of a call have no order");
    Task& task = members[part.copy].task;
    task.ends = part_of(task.ends, part.size_bytes, task.ends.size_bytes - part.size_bytes);
    task.crossing.size_bytes = task.ends.size_bytes;
  }
  std::erase_if(members, [](const Member& member) { return member.task.ends.size_bytes == 0; });
}

}  // namespace isthmus::transfer
