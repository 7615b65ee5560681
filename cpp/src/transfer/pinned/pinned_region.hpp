// Host memory, mapped, touched and registered: pinned as fast as the kernel allows.
#pragma once

#include <cstddef>
#include <memory>

#include <isthmus/pinned.hpp>

#include "device/context.hpp"

namespace isthmus::transfer {

/// Pinned memory of its own: 2 MiB-aligned, in huge pages where the kernel gives them, on the
/// device's NUMA node, registered in pieces of at most 1 GiB, mapped on the device and portable.
/// Movable. Unpinned when it goes; in a forked child it does nothing then (its pages aren't there:
/// MADV_DONTFORK).
class PinnedRegion {
public:
  /// Touches the next piece in parallel while one is registered.
  ///
  /// size_bytes  > 0; rounded up to whole pages
  /// Throws      UsageError; Unavailable (no memory, RLIMIT_MEMLOCK, cgroup: named); DriverError;
  ///             Interrupted. Nothing is kept then.
  PinnedRegion(const Context& context, std::size_t size_bytes, const PinOptions& options = {});
  PinnedRegion(PinnedRegion&&) noexcept;
  PinnedRegion& operator=(PinnedRegion&&) noexcept;
  ~PinnedRegion();

  std::byte* data() const noexcept;
  std::size_t size_bytes() const noexcept;
  const PinCosts& costs() const noexcept;
  /// Stays as it is until the process ends; this object owns nothing any more.
  void leave() noexcept;

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace isthmus::transfer
