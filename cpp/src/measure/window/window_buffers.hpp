// A device buffer with a window on it, and host memory beside it: the ends of a copy through a
// window.
#pragma once

#include <optional>

#include <isthmus/window.hpp>

#include "device/buffers.hpp"
#include "device/stream.hpp"
#include "host/pageable_buffer.hpp"
#include "measure/loops/copy_buffers.hpp"

namespace isthmus::measure {

/// What all measurements through windows have in common.
struct WindowPlace {
  int num_threads = 1;           ///< as WindowOptions::num_threads
  std::optional<int> numa_node;  ///< where the host's pages shall lie; empty: where they happen to
};

/// CUDA puts smaller allocations together in one piece of memory, and a window on such a one looks
/// at each call whether its buffer still lives (BufferCheck). What is measured has a piece of its
/// own.
///
/// Measured: allocations up to 1 MiB were seen to share pieces of 2 MiB (driver 580.159.04, H100).
inline constexpr std::size_t kOwnPieceBytes = std::size_t{2} << 20U;

/// Buffers of one size, and the comparison of either side with what the driver's own copy reads.
///
/// At first pinned host memory and the device hold random bytes, other ones each time. Not to be
/// used by two threads at once.
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
  /// Random bytes, in pinned memory. Whoever uses it as a target restores it.
  std::byte* pinned() const noexcept { return pinned_.data(); }
  /// The same bytes.
  const std::byte* reference() const noexcept { return reference_.data(); }

  /// Overwrites device memory with what isn't the reference, or restores it. Waits for it.
  void poison_device();
  void restore_device();

  /// Compares the first `size_bytes` at `offset_bytes` of the device, as the driver copies them,
  /// with `expected`.
  ///
  /// Throws    CorruptTransfer if they differ. So does the next.
  void check_device(std::size_t offset_bytes, const std::byte* expected, std::size_t size_bytes);
  /// Compares what a copy has brought to the host with what the driver copies from the device.
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
