#include "device.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <stdexcept>
#include <string>

template <typename... Args>
void Device::call(const char* name, Args... args) const {
  auto* const function = reinterpret_cast<int (*)(Args...)>(dlsym(driver_, name));
  const int failed = function == nullptr ? -1 : function(args...);
  if (failed != 0) throw std::runtime_error(std::string(name) + ": " + std::to_string(failed));
}

Device::Device(const char* driver) : driver_(dlopen(driver, RTLD_NOW | RTLD_LOCAL)) {
  if (driver_ == nullptr) throw std::runtime_error(dlerror());
  int device = 0;
  void* context = nullptr;
  call("cuInit", 0U);
  call("cuDeviceGet", &device, 0);
  call("cuDevicePrimaryCtxRetain", &context, device);
  call("cuCtxSetCurrent", context);
}

void* Device::allocate(std::size_t size_bytes) const {
  std::uint64_t memory = 0;
  call("cuMemAlloc_v2", &memory, size_bytes);
  return reinterpret_cast<void*>(memory);
}

void Device::free(void* memory) const {
  call("cuMemFree_v2", reinterpret_cast<std::uint64_t>(memory));
}

void* Device::allocate_pinned(std::size_t size_bytes) const {
  void* memory = nullptr;
  call("cuMemHostAlloc", &memory, size_bytes, 0U);
  return memory;
}

void Device::free_pinned(void* memory) const { call("cuMemFreeHost", memory); }
