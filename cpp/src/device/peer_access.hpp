// One device's access to another's memory.
#pragma once

#include "device/context.hpp"

namespace isthmus {

/// While it lives, work of one context can access another device's memory. Movable.
///
/// Access that was already enabled stays enabled afterwards.
class PeerAccess {
public:
  /// accessor    its copies and kernels get access
  /// peer        owns the memory; a context of another device
  /// Throws      UsageError if both are the same device; Unavailable if access isn't possible (no
  ///             NVLink and no suitable PCIe path); DriverError.
  PeerAccess(const Context& accessor, const Context& peer);
  ~PeerAccess();
  PeerAccess(PeerAccess&& other) noexcept;
  PeerAccess& operator=(PeerAccess&&) = delete;
  PeerAccess(const PeerAccess&) = delete;
  PeerAccess& operator=(const PeerAccess&) = delete;

private:
  Context accessor_;
  Context peer_;
  bool ours_ = false;  ///< enabled here, so to be disabled again
};

}  // namespace isthmus
