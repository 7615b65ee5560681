#include "transfer/many/disjoint.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "transfer/many/refused_copy.hpp"

namespace isthmus::transfer {
namespace {

/// One end of a copy, as addresses.
struct End {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::size_t copy = 0;
  bool written = false;
};

End end_of(const void* memory, std::size_t size_bytes, std::size_t copy, bool written) {
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

[[noreturn]] void refuse(const End& one, const End& other) {
  const std::size_t first = std::min(one.copy, other.copy);
  const std::size_t second = std::max(one.copy, other.copy);
  if (one.written && other.written)
    throw RefusedCopy(second, "its target overlaps the target of ", first,
                      ", and only one of the two could remain");
  throw RefusedCopy(second, "one of its ends overlaps an end of ", first,
                    ", and one of the two writes there: the copies of a call have no order");
}

}  // namespace

void require_disjoint(std::span<const Member> members) {
  if (members.size() < 2) return;
  const bool targets_alone = all_cross_alike(members);
  std::vector<End> ends;
  ends.reserve(members.size() * (targets_alone ? 1 : 2));
  for (std::size_t i = 0; i < members.size(); ++i) {
    const CopyEnds& both = members[i].task.ends;
    ends.push_back(end_of(both.target, both.size_bytes, i, true));
    if (!targets_alone) ends.push_back(end_of(both.source, both.size_bytes, i, false));
  }
  const auto by_begin = [](const End& one, const End& other) { return one.begin < other.begin; };
  if (!std::ranges::is_sorted(ends, by_begin)) std::ranges::sort(ends, by_begin);
  // The ends that reach furthest so far: of all, and of those that are written.
  End furthest = ends.front();
  End furthest_written = furthest.written ? furthest : End{};
  for (const End& end : std::span(ends).subspan(1)) {
    if (end.written && end.begin < furthest.end) refuse(furthest, end);
    if (end.begin < furthest_written.end) refuse(furthest_written, end);
    if (end.end > furthest.end) furthest = end;
    if (end.written && end.end > furthest_written.end) furthest_written = end;
  }
}

}  // namespace isthmus::transfer
