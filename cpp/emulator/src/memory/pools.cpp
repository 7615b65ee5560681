// cuMemAllocAsync, cuMemAllocFromPoolAsync, cuMemFreeAsync: stream-ordered device memory. There is
// no pool behind it: freed memory returns to the device at once.
// cuDeviceGetDefaultMemPool, cuDeviceGetMemPool, cuMemPool*: the only pool of a device. It keeps
// nothing, whatever its threshold: freed memory returns to the device at once (pool_memory.cpp).
#include "api/call.hpp"
#include "api/context.hpp"
#include "machine/machine.hpp"
#include "memory/memory.hpp"
#include "streams/stream_capture.hpp"

namespace isthmus::emulator {
namespace {

/// The range is already removed; its memory is freed when the stream reaches this operation.
OperationPtr make_free(const Range& range) {
  auto operation = std::make_shared<Operation>();
  operation->lane = &device_of(*range.context).inside;
  operation->work = [range](Time start) {
    Lock lock = lock_machine();
    give_back_block(lock, range);
    return start;
  };
  return operation;
}

void allocate(Call& call, Context& context, CUdeviceptr* address, std::size_t size_bytes,
              CUstream handle) {
  require(address != nullptr);
  Lock lock = lock_machine();
  const StreamPtr stream = find_stream(lock, context, handle);
  require_not_captured(lock, stream);
  require_no_capture(lock);
  call.note("bytes", size_bytes).note("stream", stream->number);
  // Unlike in cuMemAlloc, 0 bytes aren't an error; null may be freed.
  if (size_bytes == 0) {
    *address = 0;
    return;
  }
  *address = allocate_on_device(lock, context, size_bytes).base;
  machine().addresses.find(*address)->from_pool = true;
}

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

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr* address, std::size_t size_bytes, CUstream stream) {
  Call call("cuMemAllocAsync");
  return call([&] {
    allocate(call, current_context(), address, size_bytes, stream);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr* address, std::size_t size_bytes,
                                         CUmemoryPool pool, CUstream stream) {
  Call call("cuMemAllocFromPoolAsync");
  return call([&] {
    Context& context = current_context();
    require(pool == pool_of(device_of(context)));
    allocate(call, context, address, size_bytes, stream);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  Call call("cuMemFreeAsync");
  return call([&] {
    Context& context = current_context();
    if (address == 0) return CUDA_SUCCESS;
    Lock lock = lock_machine();
    const StreamPtr stream = find_stream(lock, context, handle);
    require_not_captured(lock, stream);
    require_no_capture(lock);
    call.note("stream", stream->number);
    const std::optional<Range> range = machine().addresses.remove(address, RangeKind::device);
    require(range.has_value());
    enqueue(lock, stream, make_free(*range));
    return CUDA_SUCCESS;
  });
}

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
