// Whether many copies may be made in any order.
#pragma once

#include <cstdint>
#include <vector>

#include "transfer/many/choose_many.hpp"

namespace isthmus::transfer {

/// Memory that a copy reads or writes.
struct TouchedRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::size_t copy = 0;
  bool written = false;
  /// Of written memory, the address of the bytes that it gets, which lie there in the same order;
  /// 0: they don't.
  std::uintptr_t source = 0;
};

/// The first bytes of a copy, which another copy of the call makes too.
struct Repeated {
  std::size_t copy = 0;
  std::size_t other = 0;
  std::size_t size_bytes = 0;
};

/// Checks that nothing that a copy writes is also read or written by it or by another one, so that
/// the result doesn't depend on an order. Two may write the same bytes from the same bytes, as tied
/// weights are.
///
/// Returns     the bytes that are written more than once
/// Throws      RefusedCopy.
std::vector<Repeated> require_disjoint(std::vector<TouchedRange> ranges);

/// The same for examined copies, of which all bytes are then written once: repeated ones are left
/// out.
///
/// Throws      RefusedCopy.
void make_disjoint(std::vector<Member>& members);

}  // namespace isthmus::transfer
