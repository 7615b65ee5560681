// One of the copies across the link that are made together.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus::transfer {

/// One piece: a copy between host and device.
struct LinkPiece {
  std::uintptr_t device = 0;
  std::byte* host = nullptr;  ///< not written by an upload
  std::size_t size_bytes = 0;
  /// A kernel reads or writes the host's memory itself. False: through staging memory, which a
  /// thread of the host fills or empties.
  bool direct = false;
};

}  // namespace isthmus::transfer
