// What a CTA does, whole or in windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/schedule.hpp"
#include "trace/trace.hpp"

namespace isthmus::sim {

/// Instructions, then what follows them.
struct Operation {
  std::uint32_t compute = 0;
  std::uint32_t first_line = 0;  ///< an index into the lines beside it
  trace::OpKind kind = trace::OpKind::end;
  bool ends_window = false;  ///< no operation: it tells where lines end, and more are to be read
};

/// Where a CTA runs, which decides where its local memory lies.
struct CtaPlace {
  std::uint32_t core = 0;
  std::uint32_t slot = 0;  ///< of the core
  std::uint32_t num_cores = 0;
  std::uint32_t slots_per_core = 0;  ///< of this launch
};

/// The next operations of a warp.
struct WarpWindow {
  std::vector<Operation> operations;  ///< the last ends the window
  std::vector<PlacedLine> lines;
  std::uint32_t next_operation = 0;  ///< of the block, the first after the window
  std::uint32_t end_operation = 0;   ///< the warp's
};

/// What one CTA does: a copy, since a trace's blocks go by while CTAs run. If that would be large
/// and the trace can be read again, only windows of it.
struct CtaWork {
  std::vector<std::uint32_t> first_operation;  ///< [num_warps + 1], into operations
  std::vector<Operation> operations;           ///< the last has no kind, only the end of the lines
  std::vector<PlacedLine> lines;

  std::vector<WarpWindow> windows;  ///< [num_warps]; empty: all of it is above
  trace::StoredBlock stored;        ///< where windows are read
  CtaPlace place;

  /// Of memory, used or not.
  std::size_t held_bytes() const;
};

/// Where a warp goes on: in its CTA's work, or in its window.
struct WarpWork {
  const Operation* operation = nullptr;
  const PlacedLine* lines = nullptr;
};

}  // namespace isthmus::sim
