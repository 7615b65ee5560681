// What a pointer is: cuPointerGetAttribute. And a file behind it: cuMemGetHandleForAddressRange.
#include <cstring>

#include <fcntl.h>

#include "call.hpp"
#include "machine.hpp"
#include "memory.hpp"

namespace isthmus::emulator {
namespace {

template <typename Value>
CUresult answer(void* data, Value value) {
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

CUresult describe(const Range& range, CUdeviceptr address, CUpointer_attribute attribute,
                  void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return answer(data, reinterpret_cast<std::uintptr_t>(range.context->handle()));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return answer<unsigned>(data, range.on_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return answer(data, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return range.on_host() ? answer(data, address) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return answer<unsigned long long>(data, range.id);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return answer<int>(data, 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return answer<int>(data, range.context->ordinal);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return answer<CUdeviceptr>(data, range.base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return answer<std::size_t>(data, range.size_bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return answer<int>(data, 1);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuPointerGetAttribute(void* data, CUpointer_attribute attribute,
                                       CUdeviceptr address) {
  return Call("cuPointerGetAttribute")([&] {
    current_context();
    require(data != nullptr);
    const Lock lock = lock_machine();
    const Range* range = machine().addresses.covering(address, 1);
    require(range != nullptr);
    return describe(*range, address, attribute, data);
  });
}

CUresult CUDAAPI cuMemGetHandleForAddressRange(void* handle, CUdeviceptr address,
                                               std::size_t size_bytes, CUmemRangeHandleType type,
                                               unsigned long long flags) {
  return Call("cuMemGetHandleForAddressRange").note("bytes", size_bytes)([&] {
    current_context();
    require(handle != nullptr && type == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
    require(size_bytes > 0 && whole_pages(size_bytes) == size_bytes);
    require((flags & ~1ull) == 0);  // 1: by way of BAR1, which is how this one is "mapped" anyway
    const Lock lock = lock_machine();
    const Range* range = machine().addresses.covering(address, 1);
    require(range != nullptr && range->kind == RangeKind::device);
    require(address - range->base + size_bytes <= range->mapped_bytes);
    // A dma-buf starts at `address`; a duplicated memory file starts where the allocation does.
    const bool exportable = range->file >= 0 && address == range->base;
    require(exportable, CUDA_ERROR_NOT_SUPPORTED);
    const int file = fcntl(range->file, F_DUPFD_CLOEXEC, 0);
    require(file >= 0, CUDA_ERROR_OPERATING_SYSTEM);
    return answer(handle, file);
  });
}

}  // extern "C"
