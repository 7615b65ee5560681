// The cheapest paths of copies that differ in nothing that a path's cost depends on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "transfer/plan/device_paths.hpp"

namespace isthmus::transfer {

/// For one size and kind of host memory.
struct AlikeCopies {
  std::size_t size_bytes = 0;
  MemoryKind host_kind = MemoryKind::unknown;
  Choice best;
  std::optional<Choice> without_windows;  ///< set once it was needed

  bool include(const Crossing& crossing) const noexcept {
    return size_bytes == crossing.size_bytes && host_kind == crossing.host_kind;
  }
};

/// Remembers some sizes: finding the cheapest path takes longer than all else in choosing, and the
/// copies of a call mostly have few sizes. For one device and direction.
class AlikeTable {
public:
  /// The only place for what is known about such copies. It may have others now.
  AlikeCopies& place_of(const Crossing& crossing) noexcept {
    return places_[crossing.size_bytes * kOddMultiplier >> kShift];
  }

private:
  // Fibonacci hashing: the highest bits of a product with 2^64 over the golden ratio.
  static constexpr std::uint64_t kOddMultiplier = 0x9e3779b97f4a7c15;
  static constexpr unsigned kBits = 4;
  static constexpr unsigned kShift = 64 - kBits;
  std::array<AlikeCopies, std::size_t{1} << kBits> places_;
};

}  // namespace isthmus::transfer
