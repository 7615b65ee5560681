// Which allocations a kernel touches: a programmer knows it from the kernel's arguments.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.hpp"

namespace isthmus::sim {

/// Reads all of `source`, from its first block, and rewinds it.
///
/// Returns     for each launch the indices of the allocations that it touches, ascending: the order
///             in which the program made them. A source that isn't that of its program isn't
///             refused here.
std::vector<std::vector<std::uint32_t>> touched_allocations(trace::Source& source);

}  // namespace isthmus::sim
