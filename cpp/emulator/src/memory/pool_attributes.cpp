// cuDeviceGetDefaultMemPool, cuDeviceGetMemPool, cuMemPool*: the only pool of a device. It keeps
// nothing, whatever its threshold: freed memory returns to the device at once (pool_memory.cpp).
#include "api/call.hpp"
#include "api/context.hpp"
#include "machine/machine.hpp"

namespace isthmus::emulator {
namespace {

/// Throws Refusal(INVALID_VALUE) for what isn't a pool.
Device& device_of_pool(CUmemoryPool pool) {
  for (int ordinal = 0; ordinal < machine().profile().num_devices; ++ordinal) {
    Device& device = device_at(ordinal);
    if (pool_of(device) == pool) return device;
  }
  throw Refusal{CUDA_ERROR_INVALID_VALUE};
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice ordinal) {
  return Call("cuDeviceGetDefaultMemPool")([&] {
    require(pool != nullptr);
    *pool = pool_of(device_at(ordinal));
    return CUDA_SUCCESS;
  });
}

// A device's pool can't be changed here.
CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice ordinal) {
  return Call("cuDeviceGetMemPool")([&] {
    // Seen with driver 580: for this call, a device that doesn't exist is an invalid value.
    require(pool != nullptr && ordinal >= 0 && ordinal < machine().profile().num_devices);
    *pool = pool_of(device_at(ordinal));
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                       void* value) {
  return Call("cuMemPoolGetAttribute")([&] {
    require(value != nullptr);
    require(attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, CUDA_ERROR_NOT_SUPPORTED);
    *static_cast<cuuint64_t*>(value) = device_of_pool(pool).pool_threshold_bytes;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                       void* value) {
  return Call("cuMemPoolSetAttribute")([&] {
    require(value != nullptr);
    require(attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, CUDA_ERROR_NOT_SUPPORTED);
    device_of_pool(pool).pool_threshold_bytes = *static_cast<const cuuint64_t*>(value);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, std::size_t kept_bytes) {
  return Call("cuMemPoolTrimTo")([&] {
    device_of_pool(pool);
    (void)kept_bytes;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
