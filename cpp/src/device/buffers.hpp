// Owned memory: on the device, and pinned on the host.
#pragma once

#include <cstddef>

#include "device/owned.hpp"

namespace isthmus {

/// Device memory from cuMemAlloc. Movable. Freeing waits for all work on the device (as cuMemFree
/// does).
class DeviceBuffer {
public:
  /// Throws   UsageError if `size_bytes` is 0; OutOfDeviceMemory if it doesn't fit.
  DeviceBuffer(const Context& context, std::size_t size_bytes);

  CUdeviceptr pointer() const noexcept { return owned_.handle(); }
  std::size_t size_bytes() const noexcept { return size_bytes_; }

private:
  Owned<CUdeviceptr> owned_;
  std::size_t size_bytes_;
};

/// How the CPU caches pinned memory.
enum class HostCaching {
  cached,
  write_combined,  ///< stores are gathered and sent past the caches; plain loads are very slow
};

/// Pinned host memory from cuMemHostAlloc, mapped on the device and portable to all contexts.
/// Movable.
///
/// Its pages lie where the calling thread's memory policy puts them: see host/cpu/topology.hpp. The address
/// for kernels.
class PinnedBuffer {
public:
  /// Throws   UsageError if `size_bytes` is 0; OutOfDeviceMemory if the host can't pin that much.
  PinnedBuffer(const Context& context, std::size_t size_bytes,
               HostCaching caching = HostCaching::cached);

  std::byte* data() const noexcept { return static_cast<std::byte*>(owned_.handle()); }
  std::size_t size_bytes() const noexcept { return size_bytes_; }
  /// The address at which kernels see it.
  CUdeviceptr device_pointer() const;

private:
  Owned<void*> owned_;
  std::size_t size_bytes_;
};

}  // namespace isthmus
