#include "transfer/movers/mover_kernels.hpp"

#include "device/kernel_cache.hpp"

namespace isthmus::transfer {
namespace {

bool reaches_host_addresses(const Context& context) {
  const Driver& driver = context.driver();
  CUdevice device = 0;
  driver.call(symbol::device_get)(&device, context.device().ordinal);
  int answer = 0;
  driver.call(symbol::device_get_attribute)(
      &answer, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, device);
  return answer != 0;
}

}  // namespace

Kernels mover_kernels(const Context& context, const std::string& nvrtc) {
  if (!reaches_host_addresses(context))
    throw Unavailable("a kernel that copies", "the device has other addresses for pinned memory",
                      "a device that uses the host's addresses");
  return {context, Kernels::Options{nvrtc, default_kernel_cache_folder()}};
}

}  // namespace isthmus::transfer
