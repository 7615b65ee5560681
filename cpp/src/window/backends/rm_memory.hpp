// Which resource manager object is behind a CUDA buffer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "device/context.hpp"
#include "window/allocation.hpp"
#include "window/backends/rm_abi.hpp"

namespace isthmus::window::rm {

/// A memory object of CUDA's own client, and the offset of a buffer in it.
struct MemoryObject {
  Handle client = 0;
  Handle object = 0;
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;  ///< of the whole object
};

inline constexpr std::size_t kIpcHandleWords = 16;

/// Reads the object from the bytes of an IPC memory handle.
///
/// Returns     nothing unless everything that can be checked matches: process, size, place in the
///             object, and the form of both handles.
/// Source      docs/adr/0006-private-resource-manager-interface.md: as seen on 580.159.04.
std::optional<MemoryObject> object_in_ipc_handle(
    const std::array<std::uint32_t, kIpcHandleWords>& words, std::size_t allocation_bytes,
    std::uint32_t process_id) noexcept;

/// The object behind memory from cudaMalloc.
///
/// context     current on this thread
/// Returns     nothing if CUDA gives no IPC handle for the memory (cuMemCreate, pools).
/// Throws      Unavailable if the handle doesn't have the known layout.
std::optional<MemoryObject> object_behind(const Driver& driver, const Allocation& allocation);

/// Memory of cuMemCreate: its handle, retained while this lives, so that the memory isn't freed
/// meanwhile. In a forked child the destructor does nothing.
class CreatedObject {
public:
  /// Throws      Unavailable if the memory isn't cuMemCreate's, or is of a kind that no window can
  ///             be opened on; the reason names the kind. UsageError if it lies on the host.
  CreatedObject(const Driver& driver, const Allocation& allocation);
  ~CreatedObject();
  CreatedObject(const CreatedObject&) = delete;
  CreatedObject& operator=(const CreatedObject&) = delete;

  CUmemGenericAllocationHandle handle() const noexcept { return handle_; }
  /// Whether it was made to be exported as a descriptor.
  bool exportable() const noexcept;
  /// A descriptor of it; the caller closes it.
  ///
  /// Throws      Unavailable if the driver refuses.
  int descriptor() const;

private:
  void retain(const Allocation& allocation);
  void examine();

  Driver driver_;
  std::uint64_t process_;
  CUmemGenericAllocationHandle handle_ = 0;
  CUmemAllocationProp properties_{};
};

/// Refuses a window on memory of cuMemCreate that has no handle which can be exported.
///
/// Throws      Unavailable, always.
[[noreturn]] void refuse_handleless(const std::string& why);

}  // namespace isthmus::window::rm
