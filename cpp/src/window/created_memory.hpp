// Memory of cuMemCreate, as tests of windows on this kind of memory need it.
#pragma once

#include <cstddef>

#include "device/context.hpp"

namespace isthmus::window {

/// Memory of cuMemCreate on one device, mapped by cuMemMap at an address of its own and accessible
/// to that device. Freed with this object, which may wait for the device's work; not in a forked
/// child.
class CreatedMemory {
public:
  /// context         of the device, current on this thread
  /// min_bytes       rounded up to the driver's granularity
  /// exported_as     CU_MEM_HANDLE_TYPE_*
  /// Throws          DriverError, with nothing kept; Unavailable if the driver lacks a function.
  CreatedMemory(const Context& context, std::size_t min_bytes,
                CUmemAllocationHandleType exported_as);
  ~CreatedMemory();
  CreatedMemory(const CreatedMemory&) = delete;
  CreatedMemory& operator=(const CreatedMemory&) = delete;

  CUdeviceptr pointer() const noexcept { return pointer_; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }

private:
  explicit CreatedMemory(const Context& context) : context_(context) {}
  void make(std::size_t min_bytes, CUmemAllocationHandleType exported_as);
  void give_back() const noexcept;

  Context context_;
  CUmemGenericAllocationHandle handle_ = 0;
  CUdeviceptr pointer_ = 0;
  std::size_t size_bytes_ = 0;
  bool mapped_ = false;
};

}  // namespace isthmus::window
