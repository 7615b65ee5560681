// A device buffer with a window on it, and host memory: the ends of a copy through a window.
#pragma once

#include <optional>

#include <isthmus/window.hpp>

#include "device/buffers.hpp"
#include "device/stream.hpp"
#include "host/memory/huge_mapping.hpp"
#include "measure/loops/copy_buffers.hpp"

namespace isthmus::measure {

/// The options that all measurements through windows share.
struct WindowPlace {
  int num_threads = 1;           ///< as WindowOptions::num_threads
  std::optional<int> numa_node;  ///< the host pages' node; empty: not bound
};

/// CUDA puts smaller allocations together into one piece of memory, and a window on one of them
/// checks at each call whether its buffer is still alive (BufferCheck). The measured buffer has a
/// piece of its own.
///
/// Measured: allocations up to 1 MiB were seen to share pieces of 2 MiB (driver 580.159.04, H100).
inline constexpr std::size_t kOwnPieceBytes = std::size_t{2} << 20U;

/// Buffers of one size, and the comparison of each side with a copy by the driver.
///
/// At first, pinned host memory and the device hold the same random bytes, new ones each time. Not
/// for use by two threads at once.
class WindowBuffers {
public:
  /// windows      on the context's driver
  /// size_bytes   > 0, of each
  /// Throws       Unavailable if there is no window to be had; OutOfDeviceMemory.
  WindowBuffers(const Context& context, Windows& windows, std::size_t size_bytes,
                const WindowPlace& place);

  Window& window() noexcept { return window_; }
  const Context& context() const noexcept { return context_; }
  CUdeviceptr device() const noexcept { return device_.pointer(); }
  std::size_t size_bytes() const noexcept { return pinned_.size_bytes(); }
  /// Random bytes, in pinned memory. A caller that uses it as a target restores it.
  std::byte* pinned() const noexcept { return pinned_.data(); }
  /// The same bytes.
  const std::byte* reference() const noexcept { return reference_.data(); }

  /// Overwrites device memory with bytes that differ from the reference, or restores it. Waits.
  void poison_device();
  void restore_device();

  /// Compares the first `size_bytes` at `offset_bytes` of the device, as the driver copies them,
  /// with `expected`.
  ///
  /// Throws    CorruptTransfer if they differ. check_host() does too.
  void check_device(std::size_t offset_bytes, const std::byte* expected, std::size_t size_bytes);
  /// Compares the bytes that a copy brought to the host with a copy by the driver.
  void check_host(const std::byte* brought, std::size_t size_bytes);

private:
  const std::byte* device_bytes(std::size_t offset_bytes, std::size_t size_bytes);

  Context context_;
  host::PageableBuffer reference_;
  host::PageableBuffer scratch_;
  PinnedBuffer pinned_;
  DeviceBuffer device_;
  Stream stream_;
  Window window_;
};

inline constexpr unsigned char kWindowPoison = 0xA5;

}  // namespace isthmus::measure
