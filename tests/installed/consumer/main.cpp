// Uses every public header of an installed Isthmus on the emulated driver, and looks at the bytes.
#include "consumer.hpp"

#include <cstdio>
#include <exception>

#include <isthmus/isthmus.h>

extern "C" {
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxSetCurrent(void* context);
int cuMemAlloc_v2(std::uintptr_t* pointer, std::size_t size_bytes);
int cuMemFree_v2(std::uintptr_t pointer);
}

namespace consumer {
namespace {

class DeviceMemory {
public:
  explicit DeviceMemory(const isthmus::Driver& driver) {
    void* context = nullptr;
    driver.check(cuInit(0), "cuInit");
    driver.check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    driver.check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    driver.check(cuMemAlloc_v2(&pointer_, kDeviceBytes), "cuMemAlloc");
  }
  ~DeviceMemory() {
    cuMemFree_v2(pointer_);
    cuDevicePrimaryCtxRelease_v2(0);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::uintptr_t pointer() const noexcept { return pointer_; }

private:
  std::uintptr_t pointer_ = 0;
};

isthmus::Driver emulated_driver() {
  isthmus::Driver::find("emulated");
  isthmus::Driver driver = isthmus::Driver::open("emulated:small");
  require(driver.emulated() && driver.profile() == "small", "the driver is the emulated one");
  require(driver.version() >= 12020, "it has a version");
  require(driver.device_count() == 1, "it has a device");
  require(driver.missing_symbols().empty(), "it has every function");
  require(driver.path().find("libisthmus_emulator.so") != std::string::npos,
          "it lies beside the library");
  return driver;
}

// The interface for C is in the same library.
void use_c(std::uintptr_t device) {
  const Bytes sent = pattern(5000, 9);
  Bytes received(sent.size());
  void* const target = reinterpret_cast<void*>(device);
  require(isthmus_copy(target, sent.data(), sent.size(), nullptr, nullptr) == ISTHMUS_OK &&
              isthmus_copy(received.data(), target, sent.size(), nullptr, nullptr) == ISTHMUS_OK,
          "C copies there and back");
  require(received == sent, "bytes copied by C have arrived");
}

}  // namespace
}  // namespace consumer

int main() {
  try {
    const isthmus::Driver driver = consumer::emulated_driver();
    const consumer::DeviceMemory memory(driver);
    consumer::use_copies(driver, memory.pointer());
    consumer::use_files(driver, memory.pointer());
    consumer::use_pinned_memory(driver, memory.pointer());
    consumer::use_windows(driver, memory.pointer());
    consumer::use_errors(driver);
    consumer::use_c(memory.pointer());
  } catch (const std::exception& failure) {
    std::printf("%s\n", failure.what());
    return 1;
  }
  std::printf("every byte has arrived with isthmus %s\n", isthmus_version());
}
