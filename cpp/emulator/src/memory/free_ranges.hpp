// The free parts of an address range, or of an object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace isthmus::emulator {

/// First fit, lowest first: the range released last is reused first. Not synchronised.
class FreeRanges {
public:
  /// Adds [base, base + size_bytes), which must not overlap a free range.
  void add(std::uintptr_t base, std::size_t size_bytes);
  /// Takes `size_bytes` and returns their base; nothing if no free range is large enough.
  ///
  /// alignment_bytes   a power of two
  std::optional<std::uintptr_t> take(std::size_t size_bytes, std::size_t alignment_bytes);
  /// Takes exactly these bytes; false if they aren't all free.
  bool take_at(std::uintptr_t base, std::size_t size_bytes);

private:
  using Free = std::map<std::uintptr_t, std::size_t>;
  void cut(Free::iterator range, std::uintptr_t base, std::size_t size_bytes);

  Free free_;  ///< base to size; adjacent ranges are merged
};

}  // namespace isthmus::emulator
