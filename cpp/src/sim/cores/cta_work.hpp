// The operations of a CTA, whole or in windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/cores/schedule.hpp"
#include "trace/trace.hpp"

namespace isthmus::sim {

/// Instructions, and the memory operation after them.
struct Operation {
  std::uint32_t compute = 0;
  std::uint32_t first_line = 0;  ///< an index into the lines stored with it
  trace::OpKind kind = trace::OpKind::end;
  bool ends_window = false;  ///< not an operation: only the end of the lines; read the next window
};

/// The place where a CTA runs, which determines where its local memory is.
struct CtaPlace {
  std::uint32_t core = 0;
  std::uint32_t slot = 0;  ///< in the core
  std::uint32_t num_cores = 0;
  std::uint32_t slots_per_core = 0;  ///< in this launch
};

/// The next operations of a warp.
struct WarpWindow {
  std::vector<Operation> operations;  ///< the last one marks the end of the window
  std::vector<PlacedLine> lines;
  std::uint32_t next_operation = 0;  ///< in the block: the first one after the window
  std::uint32_t end_operation = 0;   ///< of the warp
};

/// The operations of one CTA: a copy, since the trace's blocks are replaced while CTAs run. If the
/// copy would be large and the trace can be read again, it holds only windows.
struct CtaWork {
  std::vector<std::uint32_t> first_operation;  ///< [num_warps + 1], into operations
  std::vector<Operation> operations;           ///< the last one has no kind, only the lines' end
  std::vector<PlacedLine> lines;

  std::vector<WarpWindow> windows;  ///< [num_warps]; empty: the CTA is held whole, above
  trace::StoredBlock stored;        ///< where windows are read
  CtaPlace place;

  /// Bytes of memory, used or not.
  std::size_t held_bytes() const;
};

/// Where a warp continues: in its CTA's work, or in its window.
struct WarpWork {
  const Operation* operation = nullptr;
  const PlacedLine* lines = nullptr;
};

}  // namespace isthmus::sim
