// Host memory that the GPU reads and writes directly.
#pragma once

#include <cstddef>

#include "device/context.hpp"

namespace isthmus {

/// Host memory mapped on a device, during the object's life. Memory that is pinned already (by a
/// PinnedPool or another library) stays as it is; else its pages are registered, for all
/// registrations that need them: the last one's end lets them go.
class HostRegistration {
public:
  /// memory      [size_bytes], stays where it is and isn't freed during the object's life
  /// read_only   the GPU only reads it
  /// Throws      Unavailable if the pages can't be pinned: the message says why.
  HostRegistration(const Context& context, void* memory, std::size_t size_bytes, bool read_only);
  ~HostRegistration();
  HostRegistration(const HostRegistration&) = delete;
  HostRegistration& operator=(const HostRegistration&) = delete;

  /// The address at which kernels see the memory.
  CUdeviceptr device_pointer() const noexcept { return device_pointer_; }

private:
  Context context_;
  void* pages_ = nullptr;  ///< the first of those registered here; null: somebody else pinned them
  CUdeviceptr device_pointer_ = 0;
};

}  // namespace isthmus
