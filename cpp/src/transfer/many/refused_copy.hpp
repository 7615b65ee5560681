// Why one of many copies is refused.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <isthmus/errors.hpp>

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

}  // namespace isthmus::transfer
