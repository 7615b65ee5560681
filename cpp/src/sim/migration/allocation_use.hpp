// How the kernels of a program use its allocations: what a programmer knows from their arguments.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.hpp"

namespace isthmus::sim {

/// How all kernels together use an allocation.
struct AllocationUse {
  std::uint64_t requested_bytes = 0;  ///< of the lines that warps ask for, each time they do
  bool stored = false;                ///< atomics included
  bool atomic = false;
};

struct AllocationUses {
  /// For each launch the indices of the allocations that it touches, ascending: the order in which
  /// the program made them.
  std::vector<std::vector<std::uint32_t>> of_launch;
  std::vector<AllocationUse> of_allocation;
};

/// Reads all of `source`, from its first block, and rewinds it.
///
/// Returns     a line that lies in two allocations counts for both. A source that isn't that of its
///             program isn't refused here.
AllocationUses allocation_uses(trace::Source& source);

}  // namespace isthmus::sim
