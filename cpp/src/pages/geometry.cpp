#include "pages/geometry.hpp"

#include <algorithm>
#include <bit>

namespace isthmus::pages {

namespace {

std::uint32_t shift_of(std::uint32_t power_of_two) {
  return static_cast<std::uint32_t>(std::countr_zero(power_of_two));
}

/// The unit of validity: what the kind requests, or a line if lines can be valid alone.
std::uint32_t granule_bytes(const MigrationPolicy& policy) {
  if (policy.write == WriteMiss::validate) return policy.line_bytes;
  switch (policy.kind) {
    case PolicyKind::whole_page:
    case PolicyKind::zero_copy:
      return policy.page_bytes;
    case PolicyKind::single_range:
    case PolicyKind::ranges:
      return policy.request == RequestedLength::line ? policy.line_bytes : policy.unit_bytes;
    default:
      return policy.unit_bytes;
  }
}

std::uint32_t num_spans(const MigrationPolicy& policy) {
  if (policy.kind == PolicyKind::single_range) return 1;
  return policy.kind == PolicyKind::ranges ? policy.max_ranges + 1 : 0;
}

}  // namespace

Geometry geometry_of(const MigrationPolicy& policy) {
  Geometry geometry;
  geometry.policy = policy;
  MigrationPolicy& own = geometry.policy;
  // Nothing extends beyond its page.
  own.grow_bytes = std::max(own.unit_bytes, std::min(own.grow_bytes, own.page_bytes));
  own.prefetch_bytes = std::min(own.prefetch_bytes, own.page_bytes);
  own.counter_bytes = std::min(own.counter_bytes, own.page_bytes);
  own.max_unit_bytes = std::min(own.max_unit_bytes, own.page_bytes);
  geometry.page_shift = shift_of(own.page_bytes);
  geometry.granule_shift = shift_of(granule_bytes(own));
  geometry.num_granules = own.page_bytes >> geometry.granule_shift;
  geometry.bitmap_words = (geometry.num_granules + kWordBits - 1) / kWordBits;
  geometry.spans_at = 2 * geometry.bitmap_words;
  geometry.counters_at = geometry.spans_at + num_spans(own);
  const bool counts = own.kind == PolicyKind::access_counter;
  geometry.num_words = geometry.counters_at + (counts ? own.page_bytes / own.counter_bytes : 0);
  return geometry;
}

}  // namespace isthmus::pages
