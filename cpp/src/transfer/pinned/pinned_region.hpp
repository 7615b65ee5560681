// Host memory that is mapped, touched and registered: pinned as fast as the kernel allows.
#pragma once

#include <cstddef>
#include <memory>

#include <isthmus/pinned.hpp>

#include "device/context.hpp"

namespace isthmus::transfer {

/// A region of pinned memory: 2 MiB-aligned, in huge pages if the kernel gives them, on the
/// device's NUMA node, registered in pieces of at most 1 GiB, mapped on the device and portable.
/// Movable. The destructor unpins it; in a forked child it does nothing (the pages aren't there:
/// MADV_DONTFORK).
class PinnedRegion {
public:
  /// Registers one piece while threads touch the next.
  ///
  /// size_bytes  > 0; rounded up to whole pages
  /// Throws      UsageError; Unavailable (names the limit: no memory, RLIMIT_MEMLOCK, cgroup);
  ///             DriverError; Interrupted. Nothing is kept then.
  PinnedRegion(const Context& context, std::size_t size_bytes, const PinOptions& options = {});
  PinnedRegion(PinnedRegion&&) noexcept;
  PinnedRegion& operator=(PinnedRegion&&) noexcept;
  ~PinnedRegion();

  std::byte* data() const noexcept;
  std::size_t size_bytes() const noexcept;
  const PinCosts& costs() const noexcept;
  /// The memory stays pinned until the process ends; this object owns nothing any more.
  void leave() noexcept;

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace isthmus::transfer
