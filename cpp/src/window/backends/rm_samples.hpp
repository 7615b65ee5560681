// Allocations of our own, from which the search for memory objects learns.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "device/buffers.hpp"
#include "window/backends/rm_memory.hpp"
#include "window/created_memory.hpp"
#include "window/self_test.hpp"

namespace isthmus::window::rm {

/// Memory of cuMemCreate on one device that can't be exported, each with random bytes at its
/// beginning, and a buffer of cudaMalloc. Not thread-safe.
class Samples {
public:
  static constexpr std::size_t kNum = 3;
  static constexpr std::size_t kMarkBytes = 64;
  using Mark = std::array<std::byte, kMarkBytes>;

  /// context     current on this thread
  /// Throws      DriverError or Unavailable
  explicit Samples(const Context& context);

  /// The buffer's memory object: its client is CUDA's. The driver numbers objects in order.
  ///
  /// Throws      Unavailable if CUDA gives no IPC handle.
  MemoryObject buffer_object() const;
  std::uint64_t record(std::size_t index) const { return each_[index].created->handle(); }
  std::size_t size_bytes(std::size_t index) const { return each_[index].memory->size_bytes(); }
  const Mark& mark(std::size_t index) const { return each_[index].mark; }

private:
  struct Sample {
    std::unique_ptr<CreatedMemory> memory;
    std::unique_ptr<CreatedObject> created;
    Mark mark{};
  };

  Context context_;
  CopyEngineView copy_engine_;
  DeviceBuffer buffer_;
  std::array<Sample, kNum> each_;
};

}  // namespace isthmus::window::rm
