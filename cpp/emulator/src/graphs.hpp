// Graphs of copies: what a program adds to them, and what instantiating makes of that.
#pragma once

#include <cstddef>
#include <vector>

#include "addressed_copies.hpp"

namespace isthmus::emulator {

/// A graph, or one that can be launched: its copies in the order in which they were added, which
/// is one that their dependencies allow; of a captured one, in the order of its stream.
struct Graph {
  Context* context = nullptr;  ///< of an executable one; the only one it is launched in
  std::vector<AddressedCopy> copies;
};

}  // namespace isthmus::emulator
