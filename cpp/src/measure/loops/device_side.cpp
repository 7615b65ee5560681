#include "measure/loops/device_side.hpp"

#include <isthmus/errors.hpp>

#include "device/stream.hpp"

namespace isthmus::measure {
namespace {

void require_pools(const Context& context) {
  const Driver& driver = context.driver();
  CUdevice device = 0;
  int supported = 0;
  driver.call(symbol::device_get)(&device, context.device().ordinal);
  driver.call(symbol::device_get_attribute)(&supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
                                            device);
  if (supported == 0) {
    throw Unavailable("stream-ordered pool", "this device has no memory pools",
                      "a device and a driver with cudaMallocAsync");
  }
}

/// cuMemFree may free memory of cuMemAllocAsync. Source: CUDA Driver API 13.0, cuMemFree.
Owned<CUdeviceptr> take_from_pool(const Context& context, std::size_t size_bytes) {
  if (size_bytes == 0) throw UsageError("device memory of 0 bytes: give at least 1");
  require_pools(context);
  const CurrentContext current(context);
  const Driver& driver = context.driver();
  const Stream stream(context);
  CUdeviceptr pointer = 0;
  driver.call(symbol::mem_alloc_async)(&pointer, size_bytes, stream.handle());
  Owned<CUdeviceptr> owned(context, pointer, driver.raw(symbol::mem_free), symbol::mem_free.name);
  stream.synchronize();  // from here on every stream may use it
  return owned;
}

std::variant<DeviceBuffer, PoolBuffer> allocate(const Context& context, DeviceMemory memory,
                                                std::size_t size_bytes) {
  if (memory == DeviceMemory::pool) return PoolBuffer(context, size_bytes);
  return DeviceBuffer(context, size_bytes);
}

}  // namespace

PoolBuffer::PoolBuffer(const Context& context, std::size_t size_bytes)
    : owned_(take_from_pool(context, size_bytes)) {}

DeviceSide::DeviceSide(const Context& context, DeviceMemory memory, std::size_t size_bytes)
    : held_(allocate(context, memory, size_bytes)) {}

}  // namespace isthmus::measure
