// cuMemAllocAsync, cuMemAllocFromPoolAsync, cuMemFreeAsync: stream-ordered device memory. There is
// no pool behind it: freed memory returns to the device at once.
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

}  // extern "C"
