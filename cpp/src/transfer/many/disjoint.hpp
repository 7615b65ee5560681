// Whether many copies may be made in any order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transfer/many/choose_many.hpp"

namespace isthmus::transfer {

/// Memory that a copy reads or writes.
struct TouchedRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::size_t copy = 0;
  bool written = false;
};

/// Checks that nothing that a copy writes is also read or written by it or by another one, so that
/// the result doesn't depend on an order.
///
/// Throws      RefusedCopy.
void require_disjoint(std::vector<TouchedRange> ranges);

/// The same for examined copies.
///
/// Throws      RefusedCopy.
void require_disjoint(std::span<const Member> members);

}  // namespace isthmus::transfer
