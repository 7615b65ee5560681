// Which parts of a page come along with a request, where a page keeps no more than what was requested.
//
// The simulator's PageMachine keeps more of a page. Here all is read from the bits of what was
// requested, which a GPU's warps set without a lock (isthmus/paged_array.cuh). Requests one after the
// other have the same parts migrate by both: cpp/tests/pages/extension_test.cpp.
#pragma once

#include <isthmus/pages/adaptive_unit.hpp>
#include <isthmus/pages/prefetch_tree.hpp>
#include <isthmus/pages/range_list.hpp>
#include <isthmus/pages/requested_span.hpp>

namespace isthmus::pages {

/// The most ranges of a page, and so the most spans of an extension.
inline constexpr std::uint32_t kMostRanges = 8;

/// True if a miss may bring more than what it needs.
///
/// granule_bytes   of one bit
ISTHMUS_HOST_DEVICE inline bool extends(const MigrationPolicy& policy,
                                        std::uint32_t granule_bytes) {
  return policy.kind != PolicyKind::bitmap || policy.unit_bytes > granule_bytes;
}

/// The parts of a page that are to be there after a request: what of them is requested already, and
/// what isn't. All of whole_page, single_range, ranges, bitmap, tree and adaptive.
template <class Units>
class Extension {
public:
  /// units           of the page, those requested, `asked` among them or not: test(unit),
  ///                 count(first, end), and word(i) as of UnitBitmap
  /// granule_shift   log2 of the bytes of one bit
  ISTHMUS_HOST_DEVICE Extension(const MigrationPolicy& policy, const Units& units,
                                std::uint32_t granule_shift)
      : policy_(policy),
        units_(units),
        granule_shift_(granule_shift),
        num_granules_(policy.page_bytes >> granule_shift) {}

  /// lines       what was requested, whole granules
  /// doublings   of adaptive; changed
  /// spans       room for kMostRanges + 1; given back in any order. Gives how many.
  template <class Count>
  ISTHMUS_HOST_DEVICE std::uint32_t of(Span lines, Count& doublings, Span* spans) const {
    const Span asked = asked_for(policy_, lines);
    switch (policy_.kind) {
      case PolicyKind::single_range:
        spans[0] = hull(requested(), asked);
        return 1;
      case PolicyKind::ranges:
        return ranges(asked, spans);
      case PolicyKind::tree: {
        const Span leaf = aligned(asked, policy_.grow_bytes);
        const UnitRun run = largest_subtree(
            units_, num_granules_,
            {leaf.offset_bytes >> granule_shift_, leaf.end_bytes() >> granule_shift_},
            policy_.tree_threshold_percent);
        spans[0] = span_between(run.first << granule_shift_, run.end << granule_shift_);
        return 1;
      }
      case PolicyKind::adaptive:
        spans[0] = adapted(policy_, units_, granule_shift_, num_granules_, doublings, asked);
        return 1;
      default:
        spans[0] = asked;
        return 1;
    }
  }

private:
  /// Calls run(Span) for each run of what was requested.
  template <class Run>
  ISTHMUS_HOST_DEVICE void for_each_range(Run run) const {
    for_each_run(
        0, num_granules_, [&](std::uint32_t index) { return units_.word(index); },
        [&](std::uint32_t first, std::uint32_t end) {
          run(span_between(first << granule_shift_, end << granule_shift_));
        });
  }

  ISTHMUS_HOST_DEVICE Span requested() const {
    Span all;
    for_each_range([&](Span range) { all = hull(all, range); });
    return all;
  }

  /// The ranges are the runs of what was requested, unless others than this policy requested more.
  ISTHMUS_HOST_DEVICE std::uint32_t ranges(Span asked, Span* spans) const {
    std::uint16_t num_spans = 0;
    RangeList list(spans, &num_spans,
                   {policy_.page_bytes, policy_.gap_bytes, policy_.max_ranges, policy_.overflow});
    for_each_range([&](Span range) { list.add(range); });
    list.add(asked);
    return num_spans;
  }

  const MigrationPolicy& policy_;
  const Units& units_;
  std::uint32_t granule_shift_, num_granules_;
};

}  // namespace isthmus::pages
