// Graphs of copies, and their executable forms.
#pragma once

#include <cstddef>
#include <vector>

#include "copies/addressed_copies.hpp"

namespace isthmus::emulator {

/// A graph or an executable graph: its copies in the order in which they were added, which is
/// compatible with their dependencies; for a captured graph, in stream order.
struct Graph {
  Context* context = nullptr;  ///< of an executable graph; the only one to launch it in
  std::vector<AddressedCopy> copies;
};

}  // namespace isthmus::emulator
