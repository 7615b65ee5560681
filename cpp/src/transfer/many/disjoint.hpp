// Whether many copies may be made in any order.
#pragma once

#include <span>

#include "transfer/many/choose_many.hpp"

namespace isthmus::transfer {

/// Checks that no target overlaps another copy's target or source, so that the result doesn't
/// depend on an order.
///
/// Throws      RefusedCopy.
void require_disjoint(std::span<const Member> members);

}  // namespace isthmus::transfer
