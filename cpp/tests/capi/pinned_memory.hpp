// Handles of libgdrapi that close themselves when a test ends.
#pragma once

#include <gdrapi.h>

#include <stdexcept>

#include "capi/device_memory.hpp"

namespace isthmus::test {

/// A handle from gdr_open().
class GdrHandle {
public:
  GdrHandle() : handle_(gdr_open()) {
    if (handle_ == nullptr) throw std::runtime_error("gdr_open() failed");
  }
  ~GdrHandle() { gdr_close(handle_); }
  GdrHandle(const GdrHandle&) = delete;
  GdrHandle& operator=(const GdrHandle&) = delete;

  operator gdr_t() const { return handle_; }  // NOLINT(google-explicit-constructor): it is one

private:
  gdr_t handle_;
};

/// Device memory, pinned and mapped completely.
struct PinnedMemory {
  explicit PinnedMemory(std::size_t size_bytes) : device(size_bytes) {
    if (gdr_pin_buffer(handle, device.pointer(), size_bytes, 0, 0, &pin) != 0 ||
        gdr_map(handle, pin, &mapped, size_bytes) != 0)
      throw std::runtime_error("the memory can't be pinned and mapped");
  }

  std::uint8_t* at(std::size_t offset) const { return static_cast<std::uint8_t*>(mapped) + offset; }

  DeviceMemory device;
  GdrHandle handle;
  gdr_mh_t pin{};
  void* mapped = nullptr;
};

}  // namespace isthmus::test
