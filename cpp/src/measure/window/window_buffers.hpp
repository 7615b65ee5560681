// The ends of copies through a window: a device buffer with a window on it, and host memory, whose
// pieces a loop copies in turn, warm or cold.
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

/// The host's side of a loop: one piece, used repeatedly, or so many that each can be evicted from
/// the caches and all copied back to back.
class HostRegions {
public:
  /// Throws   UsageError (size), Unavailable (cold, if programs can't evict).
  HostRegions(std::size_t size_bytes, bool cold, std::optional<int> numa_node);

  std::size_t count() const noexcept { return count_; }
  std::byte* operator[](std::size_t index) const noexcept {
    return buffer_.data() + index * stride_bytes_;
  }

  /// Writes the same bytes into every piece.
  ///
  /// bytes    host, as many as a piece has
  void fill(const std::byte* bytes) const;
  void fill(unsigned char byte) const;
  /// Evicts the pieces from the caches, if they should be cold.
  void make_ready() const;

private:
  std::size_t size_bytes_;
  std::size_t stride_bytes_;
  std::size_t count_;
  bool cold_;
  host::PageableBuffer buffer_;
};

}  // namespace isthmus::measure
