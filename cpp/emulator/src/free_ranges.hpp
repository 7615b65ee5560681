// What is free of a range of addresses, or of the bytes of an object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace isthmus::emulator {

/// First fit, lowest first: what is given back is what is taken next. Not synchronised.
class FreeRanges {
public:
  /// Adds [base, base + size_bytes), none of which is free yet.
  void add(std::uintptr_t base, std::size_t size_bytes);
  /// The base of `size_bytes` that are free no longer; nothing if there aren't as many together.
  ///
  /// alignment_bytes   a power of two
  std::optional<std::uintptr_t> take(std::size_t size_bytes, std::size_t alignment_bytes);
  /// Takes exactly these bytes; false if any of them isn't free.
  bool take_at(std::uintptr_t base, std::size_t size_bytes);

private:
  using Free = std::map<std::uintptr_t, std::size_t>;
  void cut(Free::iterator range, std::uintptr_t base, std::size_t size_bytes);

  Free free_;  ///< base to size; neighbours are merged
};

}  // namespace isthmus::emulator
