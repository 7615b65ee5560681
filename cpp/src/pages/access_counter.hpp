// Counts the GPU's accesses to memory that stays on the host.
#pragma once

#include <cstdint>

namespace isthmus::pages {

/// Units that one hardware counter distinguishes. Source: uvm_gpu_access_counters.c,
/// UVM_SUB_GRANULARITY_REGIONS.
inline constexpr std::uint32_t kUnitsPerCounter = 32;

/// A view of a counter, which the page owns: the number of accesses in the low half, and a bit for
/// each touched unit in the high half.
class AccessCounter {
public:
  explicit AccessCounter(std::uint64_t* word) : word_(word) {}

  /// Counts an access to a unit; returns the number so far.
  std::uint32_t count(std::uint32_t unit) {
    *word_ += 1;
    *word_ |= std::uint64_t{1} << (kUnitsPerCounter + unit);
    return static_cast<std::uint32_t>(*word_);
  }

  /// Resets the counter; returns the touched units, as bits.
  std::uint64_t reset() {
    const std::uint64_t touched = *word_ >> kUnitsPerCounter;
    *word_ = 0;
    return touched;
  }

private:
  std::uint64_t* word_;
};

}  // namespace isthmus::pages
