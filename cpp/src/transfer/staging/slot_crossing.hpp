// How slots cross the link where the driver's copies can't do it.
#pragma once

#include <span>

#include "device/link_copies.hpp"

namespace isthmus::transfer {

/// Moves the bytes of slots to or from a device, for memory that isn't contiguous there. Called by
/// several threads, one at a time.
class SlotCrossing {
public:
  /// The bytes of a slot begin and end at multiples of this, counted from the first byte of the
  /// copy; only the copy's last byte may be followed by fewer.
  static constexpr std::size_t kGrainBytes = 16;

  virtual ~SlotCrossing() = default;

  /// Enqueues a slot's crossing. The caller holds a CurrentContext.
  ///
  /// copies      LinkCopy::device counts from the first byte of the whole copy
  /// Throws      DriverError.
  virtual void enqueue(std::span<const LinkCopy> copies, CUstream stream) const = 0;
};

}  // namespace isthmus::transfer
