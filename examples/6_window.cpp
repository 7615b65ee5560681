// Writes and reads GPU memory from the CPU, without a copy command. CMakeLists.txt builds it.
#include <cuda.h>
#include <isthmus/driver.hpp>
#include <isthmus/errors.hpp>
#include <isthmus/window.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

namespace {

/// Memory of the first GPU. It may come from anywhere: cudaMalloc, a library, a tensor.
class DeviceMemory {
public:
  DeviceMemory(const isthmus::Driver& driver, std::size_t size_bytes) {
    driver.check(cuInit(0), "cuInit");
    driver.check(cuDeviceGet(&device_, 0), "cuDeviceGet");
    CUcontext context = nullptr;
    driver.check(cuDevicePrimaryCtxRetain(&context, device_), "cuDevicePrimaryCtxRetain");
    driver.check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    driver.check(cuMemAlloc(&pointer_, size_bytes), "cuMemAlloc");
  }
  ~DeviceMemory() {
    cuMemFree(pointer_);
    cuDevicePrimaryCtxRelease(device_);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  CUdeviceptr pointer() const noexcept { return pointer_; }

private:
  CUdevice device_ = 0;
  CUdeviceptr pointer_ = 0;
};

void use(const isthmus::Driver& driver, std::uintptr_t device_pointer) {
  isthmus::Windows windows(driver);
  isthmus::Window window = windows.open(device_pointer, 4096);

  const std::array<float, 4> data{1, 2, 3, 4};
  window.write(256, data.data(), sizeof data);
  const std::uint32_t flag = 1;
  window.write(0, &flag, sizeof flag);  // a kernel that sees the flag also sees the data

  std::array<float, 4> answer{};
  window.read(answer.data(), 256, sizeof answer);
  std::printf("%g %g %g %g, by way of %s\n", answer[0], answer[1], answer[2], answer[3],
              std::string(isthmus::name_of(window.backend())).c_str());
}

}  // namespace

int main() {
  try {
    const isthmus::Driver driver = isthmus::Driver::open();
    const DeviceMemory memory(driver, 4096);
    use(driver, memory.pointer());
  } catch (const isthmus::Unavailable& absence) {
    std::printf("no windows here: %s\n", absence.what());
    return 1;
  } catch (const std::exception& failure) {
    std::printf("%s\n", failure.what());
    return 1;
  }
}
