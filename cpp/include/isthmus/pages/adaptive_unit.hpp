// A unit that doubles next to what is there, and halves elsewhere.
#pragma once

#include <isthmus/pages/policy.hpp>
#include <isthmus/pages/span.hpp>

namespace isthmus::pages {

/// The block around `asked` that migrates.
///
/// units           those resident or requested: a UnitBitmap, or what tests like one
/// granule_shift   log2 of the bytes of one bit
/// num_granules    in a page
/// doublings       of the unit so far; changed
template <class Units, class Count>
ISTHMUS_HOST_DEVICE Span adapted(const MigrationPolicy& policy, const Units& units,
                                 std::uint32_t granule_shift, std::uint32_t num_granules,
                                 Count& doublings, Span asked) {
  const std::uint32_t first = asked.offset_bytes >> granule_shift;
  const std::uint32_t end = asked.end_bytes() >> granule_shift;
  const bool beside =
      (first > 0 && units.test(first - 1)) || (end < num_granules && units.test(end));
  if (beside && (policy.unit_bytes << doublings) < policy.max_unit_bytes)
    doublings += 1;
  else if (!beside && doublings > 0)
    doublings -= 1;
  return aligned(asked, policy.unit_bytes << doublings);
}

}  // namespace isthmus::pages
