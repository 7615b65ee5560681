// Uses every public header of an installed Isthmus on the emulated driver, and looks at the bytes.
#include "consumer.hpp"

#include <algorithm>
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
  isthmus_block_pool there{target, 10, 0};
  isthmus_block_pool here{received.data(), 10, 500};
  const std::int64_t to[]{4};
  const std::int64_t of[]{7};
  isthmus_block_copy copy = ISTHMUS_BLOCK_COPY_INIT;
  copy.targets = &here;
  copy.sources = &there;
  copy.num_layers = copy.num_blocks = 1;
  copy.block_bytes = 500;
  copy.target_index = to;
  copy.source_index = of;
  isthmus_future* future = nullptr;
  isthmus_prepared_copy* prepared = nullptr;
  require(isthmus_copy_blocks(&copy, nullptr, nullptr) == ISTHMUS_OK &&
              isthmus_prepare_blocks(&copy, &prepared, nullptr) == ISTHMUS_OK &&
              isthmus_prepared_run(prepared, nullptr, &future, nullptr) == ISTHMUS_OK &&
              isthmus_future_wait(future, nullptr) == ISTHMUS_OK &&
              isthmus_check_blocks(nullptr) == ISTHMUS_OK,
          "C copies blocks");
  isthmus_future_free(future);
  isthmus_prepared_free(prepared);
  require(std::equal(received.begin() + 2000, received.begin() + 2500, sent.begin() + 3500),
          "a block copied by C has arrived");
  copy.struct_size = 8;
  require(isthmus_copy_blocks(&copy, nullptr, nullptr) == ISTHMUS_USAGE_ERROR,
          "C refuses a struct without its size");
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
