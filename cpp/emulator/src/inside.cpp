// cuMemset* and cuMemcpyDtoD*: work that stays inside the device.
#include "call.hpp"
#include "context.hpp"
#include "link.hpp"
#include "machine.hpp"
#include "memory.hpp"

namespace isthmus::emulator {
namespace {

Pace inside_pace() {
  return {machine().profile().launch_latency, machine().profile().device_bytes_per_s};
}

template <typename Work>
OperationPtr enqueue_inside(Call& call, Lock& lock, CUstream handle, std::size_t size_bytes,
                            Work work) {
  Context& context = current_context();
  const StreamPtr stream = find_stream(lock, context, handle);
  call.note("bytes", size_bytes).note("stream", stream->number);
  if (size_bytes == 0) return nullptr;
  auto operation = std::make_shared<Operation>();
  operation->lane = &device_of(context).inside;
  operation->expected = inside_pace().latency + inside_pace().time_for(size_bytes);
  operation->work = std::move(work);
  enqueue(lock, stream, operation);
  return operation;
}

struct Fill {
  CUdeviceptr target;
  unsigned pattern;
  std::size_t pattern_bytes;
  std::size_t size_bytes;
};

CUresult fill(const char* symbol, const Fill& fill, CUstream stream) {
  Call call(symbol);
  return call([&] {
    current_context();
    require(fill.target % fill.pattern_bytes == 0);
    Lock lock = lock_machine();
    if (fill.size_bytes > 0) require_device_range(lock, fill.target, fill.size_bytes);
    enqueue_inside(call, lock, stream, fill.size_bytes, [fill](Time start) {
      return fill_bytes(to_pointer(fill.target), fill.pattern, fill.pattern_bytes, fill.size_bytes,
                        inside_pace(), start);
    });
    return CUDA_SUCCESS;
  });
}

CUresult copy_inside(const char* symbol, CUdeviceptr target, CUdeviceptr source,
                     std::size_t size_bytes, CUstream stream) {
  Call call(symbol);
  return call([&] {
    current_context();
    Lock lock = lock_machine();
    if (size_bytes > 0) {
      require_device_range(lock, target, size_bytes);
      require_device_range(lock, source, size_bytes);
    }
    enqueue_inside(call, lock, stream, size_bytes, [=](Time start) {
      return move_bytes(to_pointer(target), to_pointer(source), size_bytes, inside_pace(), start);
    });
    return CUDA_SUCCESS;
  });
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr target, unsigned char value, std::size_t count,
                                 CUstream stream) {
  return fill("cuMemsetD8Async", {target, value, 1, count}, stream);
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr target, unsigned int value, std::size_t count,
                                  CUstream stream) {
  return fill("cuMemsetD32Async", {target, value, 4, count * 4}, stream);
}

CUresult CUDAAPI cuMemsetD8(CUdeviceptr target, unsigned char value, std::size_t count) {
  return fill("cuMemsetD8", {target, value, 1, count}, nullptr);
}

CUresult CUDAAPI cuMemsetD32(CUdeviceptr target, unsigned int value, std::size_t count) {
  return fill("cuMemsetD32", {target, value, 4, count * 4}, nullptr);
}

CUresult CUDAAPI cuMemcpyDtoD(CUdeviceptr target, CUdeviceptr source, std::size_t size_bytes) {
  return copy_inside("cuMemcpyDtoD", target, source, size_bytes, nullptr);
}

CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr target, CUdeviceptr source, std::size_t size_bytes,
                                   CUstream stream) {
  return copy_inside("cuMemcpyDtoDAsync", target, source, size_bytes, stream);
}

}  // extern "C"
