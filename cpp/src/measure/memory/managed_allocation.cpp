#include "measure/memory/managed_allocation.hpp"

#include <string>

#include <isthmus/errors.hpp>

namespace isthmus::measure {
namespace {

bool has(const Context& context, CUdevice_attribute attribute) {
  CUdevice device = 0;
  int value = 0;
  context.driver().call(symbol::device_get)(&device, context.device().ordinal);
  context.driver().call(symbol::device_get_attribute)(&value, attribute, device);
  return value != 0;
}

void require_room(const Context& context, std::size_t size_bytes) {
  if (size_bytes == 0 || size_bytes > kMaxManagedBytes) {
    throw UsageError("managed memory is measured with 1 to " + std::to_string(kMaxManagedBytes) +
                     " bytes, not " + std::to_string(size_bytes));
  }
  if (!has(context, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)) {
    throw Unavailable("managed memory", "this device has none", "another device or system");
  }
  if (context.free_memory_bytes() <= size_bytes) {
    throw Unavailable("managed memory",
                      "the device has no " + std::to_string(size_bytes) + " bytes free",
                      "less memory in use on the device");
  }
}

Owned<CUdeviceptr> allocate(const Context& context, std::size_t size_bytes) {
  require_room(context, size_bytes);
  const CurrentContext current(context);
  const Driver& driver = context.driver();
  CUdeviceptr pointer = 0;
  driver.call(symbol::mem_alloc_managed)(&pointer, size_bytes,
                                         static_cast<unsigned>(CU_MEM_ATTACH_GLOBAL));
  return {context, pointer, driver.raw(symbol::mem_free), symbol::mem_free.name};
}

}  // namespace

ManagedAllocation::ManagedAllocation(const Context& context, std::size_t size_bytes)
    : owned_(allocate(context, size_bytes)), size_bytes_(size_bytes) {}

CUmemLocation location_of(int device) noexcept {
  CUmemLocation found{};
  found.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  found.id = device == CU_DEVICE_CPU ? 0 : device;
  return found;
}

void require_concurrent_access(const Context& context) {
  if (has(context, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)) return;
  throw Unavailable("faults, prefetches and advice for managed memory",
                    "CPU and device can't use it at the same time here",
                    "Linux without virtual GPUs, and a device from Pascal on");
}

}  // namespace isthmus::measure
