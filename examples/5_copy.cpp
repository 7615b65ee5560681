// Copies to a GPU and back, along the cheapest path on this machine. CMakeLists.txt builds it.
#include <cuda.h>
#include <isthmus/driver.hpp>
#include <isthmus/pinned.hpp>
#include <isthmus/transfer.hpp>

#include <cstdio>
#include <cstring>
#include <exception>
#include <numeric>
#include <string>
#include <vector>

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

void show(const isthmus::CopyPlan& plan) {
  std::printf("%s to %s, by %s:\n", std::string(name_of(plan.source)).c_str(),
              std::string(name_of(plan.target)).c_str(), std::string(name_of(plan.path)).c_str());
  for (const isthmus::PathCost& cost : plan.costs) {
    if (cost.usable) {
      std::printf("  %s %.1f us\n", std::string(name_of(cost.path)).c_str(), cost.seconds * 1e6);
    } else {
      std::printf("  not %s: %s\n", std::string(name_of(cost.path)).c_str(), cost.reason.c_str());
    }
  }
}

void use(const isthmus::Driver& driver, void* device, std::size_t size_bytes) {
  isthmus::Transfers transfers(driver);
  std::vector<float> numbers(size_bytes / sizeof(float));
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  show(transfers.explain(device, numbers.data(), size_bytes));
  transfers.copy(device, numbers.data(), size_bytes);

  // Into pinned memory from a pool; the future is ready when the bytes have arrived.
  isthmus::PinnedPool pool(driver, 0);
  void* const pinned = pool.allocate(size_bytes);
  transfers.copy_async(pinned, device, size_bytes).wait();
  std::printf("%s\n",
              std::memcmp(pinned, numbers.data(), size_bytes) == 0 ? "the same" : "differs");
  pool.free(pinned);
}

}  // namespace

int main() {
  try {
    const isthmus::Driver driver = isthmus::Driver::open();
    const std::size_t size_bytes = std::size_t{4} << 20U;
    const DeviceMemory memory(driver, size_bytes);
    use(driver, reinterpret_cast<void*>(memory.pointer()), size_bytes);
  } catch (const std::exception& failure) {
    std::printf("%s\n", failure.what());
    return 1;
  }
}
