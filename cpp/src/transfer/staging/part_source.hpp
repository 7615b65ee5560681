// Where the bytes of an upload come from when threads fill a slot together.
#pragma once

#include <cstddef>

namespace isthmus::transfer {

/// A source of which any part may be requested.
class PartSource {
public:
  PartSource() = default;
  PartSource(const PartSource&) = delete;
  PartSource& operator=(const PartSource&) = delete;
  virtual ~PartSource() = default;

  /// Puts the source's bytes [offset_bytes, offset_bytes + size_bytes) at `place`. Called by
  /// several threads at once. When it returns, the device may read them.
  ///
  /// Throws      what makes the upload fail.
  virtual void fill(std::byte* place, std::size_t offset_bytes, std::size_t size_bytes) const = 0;
};

}  // namespace isthmus::transfer
