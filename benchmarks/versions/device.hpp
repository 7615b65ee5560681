// The first device, through the driver's own functions: no version owns the memory.
#pragma once

#include <cstddef>

/// Device memory, and pinned host memory. Its context is current on the thread that created it, as
/// in a program that uses the CUDA runtime.
class Device {
public:
  /// driver      "libcuda.so.1", or the path of another
  explicit Device(const char* driver);

  void* allocate(std::size_t size_bytes) const;
  void free(void* memory) const;
  void* allocate_pinned(std::size_t size_bytes) const;
  void free_pinned(void* memory) const;

private:
  template <typename... Args>
  void call(const char* name, Args... args) const;

  void* driver_;
};
