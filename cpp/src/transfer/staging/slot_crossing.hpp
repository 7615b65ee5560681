// How slots cross the link where the driver's copies can't do it.
#pragma once

#include <span>

#include "device/link_copies.hpp"

namespace isthmus::transfer {

/// Moves the bytes of slots to or from a device, for memory that isn't contiguous there. Called by
/// several threads, one at a time.
class SlotCrossing {
public:
  /// What a slot holds begins and ends at multiples of this, counted from the first byte of the
  /// copy; the last slot ends where the copy does.
  static constexpr std::size_t kGrainBytes = 16;

  virtual ~SlotCrossing() = default;

  /// Enqueues a slot's crossing. The caller holds a CurrentContext.
  ///
  /// copies      LinkCopy::device counts from the first byte of the whole copy
  /// Throws      DriverError.
  virtual void enqueue(std::span<const LinkCopy> copies, CUstream stream) const = 0;
};

}  // namespace isthmus::transfer
