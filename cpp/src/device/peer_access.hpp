// One device's access to another's memory.
#pragma once

#include "device/context.hpp"

namespace isthmus {

/// Lets the work of one context reach the memory of another device's, while this lives. Movable.
///
/// What somebody else had enabled before stays enabled.
class PeerAccess {
public:
  /// accessor    whose copies and kernels do the reaching
  /// peer        whose memory is reached; another device's
  /// Throws      UsageError for one device twice; Unavailable where the two can't (no NVLink, and
  /// no
  ///             PCIe path that lets them); DriverError.
  PeerAccess(const Context& accessor, const Context& peer);
  ~PeerAccess();
  PeerAccess(PeerAccess&& other) noexcept;
  PeerAccess& operator=(PeerAccess&&) = delete;
  PeerAccess(const PeerAccess&) = delete;
  PeerAccess& operator=(const PeerAccess&) = delete;

private:
  Context accessor_;
  Context peer_;
  bool ours_ = false;  ///< to be disabled again
};

}  // namespace isthmus
