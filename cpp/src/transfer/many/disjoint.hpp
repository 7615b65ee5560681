// Whether many copies may be made in any order, and why one is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <isthmus/errors.hpp>

#include "transfer/many/choose_many.hpp"

namespace isthmus::transfer {

/// A UsageError about one or two of the copies of a call, counted from 0.
class RefusedCopy final : public UsageError {
public:
  RefusedCopy(std::size_t copy, const std::string& why) : RefusedCopy(copy, why, copy, "", false) {}
  /// why         goes on with the other copy's name, and then with `rest`
  RefusedCopy(std::size_t copy, const std::string& why, std::size_t other, const std::string& rest)
      : RefusedCopy(copy, why, other, rest, true) {}

  /// The same, with each copy's number in another list.
  template <typename Number>
  RefusedCopy renumbered(Number number) const {
    return {number(copy_), why_, number(other_), rest_, names_other_};
  }
  /// The message, with the caller's names of the copies.
  template <typename Name>
  std::string text(Name name) const {
    const std::string text = name(copy_) + ": " + why_;
    return names_other_ ? text + name(other_) + rest_ : text;
  }

private:
  RefusedCopy(std::size_t copy, const std::string& why, std::size_t other, const std::string& rest,
              bool names_other)
      : UsageError("copy " + std::to_string(copy) + " of the call: " + why +
                   (names_other ? "copy " + std::to_string(other) + rest : "")),
        copy_(copy),
        why_(why),
        other_(other),
        rest_(rest),
        names_other_(names_other) {}

  std::size_t copy_;
  std::string why_;
  std::size_t other_;
  std::string rest_;
  bool names_other_;
};

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
