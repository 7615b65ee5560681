// One valid range in each page: a start offset and a length, as the page table entry holds them.
#pragma once

#include <isthmus/pages/span.hpp>

namespace isthmus::pages {

/// A view of a page's one range, which the page owns. Source: Zhang 2019, Figure 3a.
class SingleRange {
public:
  ISTHMUS_HOST_DEVICE explicit SingleRange(Span* range) : range_(range) {}

  ISTHMUS_HOST_DEVICE Span range() const { return *range_; }

  /// The range after adding `wanted` and the gap between them.
  ISTHMUS_HOST_DEVICE Span grown(Span wanted) const { return hull(*range_, wanted); }

  ISTHMUS_HOST_DEVICE Span add(Span wanted) {
    *range_ = grown(wanted);
    return *range_;
  }

  /// True if there is no gap between them.
  ISTHMUS_HOST_DEVICE bool joins(Span wanted) const {
    return range_->length_bytes == 0 || touch(*range_, wanted);
  }

private:
  Span* range_;
};

}  // namespace isthmus::pages
