// One device's access to another's memory.
#pragma once

#include "device/context.hpp"

namespace isthmus {

/// True if work of one device could access another's memory, by the driver's answer.
///
/// Throws      DriverError.
bool can_access_peer(const Driver& driver, int accessor, int peer);

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
  /// Leaves access enabled for the life of the contexts, even where it was enabled here: others in
  /// the process may rely on it by then.
  void keep() noexcept { ours_ = false; }
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
