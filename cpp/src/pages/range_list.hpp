// A few valid ranges in each page.
// One valid range in each page: a start offset and a length, as the page table entry holds them.
#pragma once

#include "pages/policy.hpp"
#include "pages/span.hpp"

namespace isthmus::pages {

/// The result of adding a request to a page's ranges.
struct Growth {
  Span grown;   ///< the range that now contains the request, with a filled gap that adjoins it
  Span filled;  ///< the gap that was filled elsewhere; empty if none
  bool refused = false;
};

/// The rules for merging ranges.
struct RangeRules {
  std::uint32_t page_bytes = 0;
  std::uint32_t gap_bytes = 0;  ///< smaller gaps are filled
  std::uint32_t most = 0;       ///< the maximum number of ranges
  Overflow overflow = Overflow::fill_gap;
};

/// A view of a page's ranges, which the page owns: in order, with gaps of at least gap_bytes.
/// Source: Zhang 2019, Figure 3b; RangeRules::overflow is ours.
class RangeList {
public:
  /// spans       room for rules.most + 1
  RangeList(Span* spans, std::uint16_t* num_spans, const RangeRules& rules)
      : spans_(spans), num_spans_(num_spans), rules_(rules) {}

  std::uint32_t size() const { return *num_spans_; }
  Span operator[](std::uint32_t index) const { return spans_[index]; }

  /// Adds `wanted` to the ranges. If it is refused, they don't change.
  Growth add(Span wanted) {
    std::uint32_t first = 0;
    while (first < size() && apart(spans_[first], wanted)) ++first;
    std::uint32_t end = first;
    while (end < size() && !apart(wanted, spans_[end])) ++end;
    const std::uint32_t num_after = size() - (end - first) + 1;
    if (num_after > rules_.most && rules_.overflow == Overflow::refuse) return {{}, {}, true};
    Growth growth;
    growth.grown = wanted;
    for (std::uint32_t index = first; index < end; ++index)
      growth.grown = hull(growth.grown, spans_[index]);
    replace(first, end, growth.grown);
    if (size() > rules_.most) overflow(growth);
    return growth;
  }

private:
  /// True if `right` is so far behind `left` that they aren't merged.
  bool apart(Span left, Span right) const {
    if (right.offset_bytes <= left.end_bytes()) return false;
    return right.offset_bytes - left.end_bytes() >= rules_.gap_bytes;
  }

  /// Replaces ranges [first, end) by one.
  void replace(std::uint32_t first, std::uint32_t end, Span range) {
    const std::uint32_t num_before = size();
    if (end == first)
      for (std::uint32_t index = num_before; index > first; --index)
        spans_[index] = spans_[index - 1];
    for (std::uint32_t index = end; end > first && index < num_before; ++index)
      spans_[first + 1 + index - end] = spans_[index];
    spans_[first] = range;
    *num_spans_ = static_cast<std::uint16_t>(num_before - (end - first) + 1);
  }

  void overflow(Growth& growth) {
    if (rules_.overflow == Overflow::whole_page) {
      growth.grown = {0, rules_.page_bytes};
      replace(0, size(), growth.grown);
      return;
    }
    const std::uint32_t left = before_smallest_gap();
    const Span gap = span_between(spans_[left].end_bytes(), spans_[left + 1].offset_bytes);
    const bool adjoins = spans_[left] == growth.grown || spans_[left + 1] == growth.grown;
    if (adjoins) {
      growth.grown = hull(growth.grown, gap);  // they migrate together
    } else {
      growth.filled = gap;
    }
    replace(left, left + 2, hull(spans_[left], spans_[left + 1]));
  }

  std::uint32_t before_smallest_gap() const {
    std::uint32_t best = 0;
    std::uint32_t best_gap_bytes = ~std::uint32_t{0};
    for (std::uint32_t index = 0; index + 1 < size(); ++index) {
      const std::uint32_t gap_bytes = spans_[index + 1].offset_bytes - spans_[index].end_bytes();
      if (gap_bytes >= best_gap_bytes) continue;
      best = index;
      best_gap_bytes = gap_bytes;
    }
    return best;
  }

  Span* spans_;
  std::uint16_t* num_spans_;
  RangeRules rules_;
};

/// A view of a page's one range, which the page owns. Source: Zhang 2019, Figure 3a.
class SingleRange {
public:
  explicit SingleRange(Span* range) : range_(range) {}

  Span range() const { return *range_; }

  /// The range after adding `wanted` and the gap between them.
  Span grown(Span wanted) const { return hull(*range_, wanted); }

  Span add(Span wanted) {
    *range_ = grown(wanted);
    return *range_;
  }

  /// True if there is no gap between them.
  bool joins(Span wanted) const { return range_->length_bytes == 0 || touch(*range_, wanted); }

private:
  Span* range_;
};

}  // namespace isthmus::pages
