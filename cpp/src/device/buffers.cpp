#include "device/buffers.hpp"

#include <isthmus/errors.hpp>

namespace isthmus {
namespace {

void refuse_zero(std::size_t size_bytes, const char* what) {
  if (size_bytes == 0) throw UsageError(std::string(what) + " of 0 bytes: give at least 1");
}

Owned<CUdeviceptr> allocate_device(const Context& context, std::size_t size_bytes) {
  refuse_zero(size_bytes, "device buffer");
  const CurrentContext current(context);
  const Driver& driver = context.driver();
  const ScopedRelaxedCapture relaxed(driver);  // an allocation is not part of a capture
  CUdeviceptr pointer = 0;
  driver.call(symbol::mem_alloc)(&pointer, size_bytes);
  return {context, pointer, driver.raw(symbol::mem_free), symbol::mem_free.name};
}

Owned<void*> allocate_pinned(const Context& context, std::size_t size_bytes, HostCaching caching) {
  refuse_zero(size_bytes, "pinned buffer");
  const CurrentContext current(context);
  const Driver& driver = context.driver();
  const ScopedRelaxedCapture relaxed(driver);
  void* pointer = nullptr;
  unsigned flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
  if (caching == HostCaching::write_combined) flags |= CU_MEMHOSTALLOC_WRITECOMBINED;
  driver.call(symbol::mem_host_alloc)(&pointer, size_bytes, flags);
  return {context, pointer, driver.raw(symbol::mem_free_host), symbol::mem_free_host.name};
}

}  // namespace

DeviceBuffer::DeviceBuffer(const Context& context, std::size_t size_bytes)
    : owned_(allocate_device(context, size_bytes)), size_bytes_(size_bytes) {}

PinnedBuffer::PinnedBuffer(const Context& context, std::size_t size_bytes, HostCaching caching)
    : owned_(allocate_pinned(context, size_bytes, caching)), size_bytes_(size_bytes) {}

CUdeviceptr PinnedBuffer::device_pointer() const {
  const CurrentContext current(owned_.context());
  CUdeviceptr pointer = 0;
  owned_.context().driver().call(symbol::mem_host_get_device_pointer)(&pointer, owned_.handle(),
                                                                      0U);
  return pointer;
}

}  // namespace isthmus
