// Checks that a mapping shows the right memory. No mapping is given out unchecked.
#pragma once

#include <vector>

#include "device/buffers.hpp"
#include "device/stream.hpp"
#include "window/mapping.hpp"

namespace isthmus::window {

/// Copies for tests by the copy engine, with its own stream and pinned buffer: waits for no other
/// work, and may be used while kernels run. Not thread-safe.
class CopyEngineView {
public:
  /// The most bytes of one copy: 64 lines of 64 bytes.
  static constexpr std::size_t kMaxBytes = 4096;

  explicit CopyEngineView(const Context& context);

  /// size_bytes  at most kMaxBytes. The result is valid until the next call.
  const std::byte* read(std::uintptr_t device_pointer, std::size_t size_bytes);
  /// Reads ranges, one after the other into the result, and waits once.
  ///
  /// ranges      together at most kMaxBytes
  std::vector<std::byte> read(const std::vector<DevicePages>& ranges);
  void write(std::uintptr_t device_pointer, const std::byte* source, std::size_t size_bytes);

private:
  Context context_;
  Stream stream_;
  PinnedBuffer staging_;
};

/// Makes later blocking copies to and from an allocation complete before they return. Does nothing
/// for memory that doesn't support it (cuMemCreate).
void set_sync_memops(const Driver& driver, const Allocation& allocation) noexcept;

/// The test's own memory on one device. It is freed with this object, not after each test: freeing
/// would wait for all work of the device.
class SelfTest {
public:
  /// context     current on this thread
  explicit SelfTest(const Context& context);

  /// Tests a backend on two adjacent buffers: sends random bytes both ways through each.
  ///
  /// Throws      Unavailable if the backend refuses, or bytes are wrong.
  void qualify(Backend& backend, const std::shared_ptr<Bar1Budget>& budget);

  /// Compares the ends of [pointer, pointer + size_bytes), and of each buffer in it, as the mapping
  /// shows them, with what the copy engine reads. Where the memory was found by the driver's record,
  /// compares lines of all that is mapped, too. A difference counts only if the copy engine reads
  /// the same bytes again, because a running kernel may be writing there. Changes nothing.
  ///
  /// Throws      Unavailable if the bytes differ.
  void compare(const Mapping& mapping, std::uintptr_t pointer, std::size_t size_bytes);

private:
  void compare_lines(const Mapping& mapping, const std::vector<DevicePages>& lines);
  void send_both_ways(const Mapping& mapping, std::uintptr_t pointer, std::uint64_t seed);

  Context context_;
  CopyEngineView copy_engine_;
  DeviceBuffer first_;
  DeviceBuffer second_;
};

}  // namespace isthmus::window
