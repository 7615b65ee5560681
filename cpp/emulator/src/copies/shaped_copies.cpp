// cuMemcpy3D, cuMemcpy3DAsync, cuMemcpy2DAsync: boxes between the host, the device and arrays.
//
// Source: CUDA Driver API 13.0, cuMemcpy3D, cuMemcpy3DAsync and cuMemcpy2DAsync.
#include "api/call.hpp"
#include "copies/boxes.hpp"
#include "machine/paces.hpp"
#include "memory/memory.hpp"

namespace isthmus::emulator {
namespace {

std::string_view name_of(CUmemorytype memory) {
  switch (memory) {
    case CU_MEMORYTYPE_HOST:
      return "host";
    case CU_MEMORYTYPE_ARRAY:
      return "array";
    default:
      return "device";
  }
}

Pace pace_of(const Box& box, bool is_pageable) {
  if (!box.source.on_host() && !box.target.on_host()) return inside_pace();
  return is_pageable ? pageable_pace() : pinned_pace();
}

CUresult enqueue_box(Call& call, const CUDA_MEMCPY3D& copy, CUstream handle) {
  Context& context = current_context();
  Lock lock = lock_machine();
  const StreamPtr stream = find_stream(lock, context, handle);
  call.note("source", name_of(copy.srcMemoryType))
      .note("target", name_of(copy.dstMemoryType))
      .note("bytes", copy.WidthInBytes * copy.Height * copy.Depth)
      .note("rows", copy.Height * copy.Depth)
      .note("stream", stream->number);
  if (moves_nothing(copy)) return CUDA_SUCCESS;
  const Box box = box_of(lock, copy);
  const bool by_caller = is_pageable(lock, box);
  const OperationPtr operation = make_transfer(context, box, pace_of(box, by_caller));
  if (!by_caller) {
    enqueue(lock, stream, operation);
    return CUDA_SUCCESS;
  }
  enqueue(lock, stream, operation, nullptr, Worker::caller);
  machine().scheduler.wait(lock, operation);
  return CUDA_SUCCESS;
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuMemcpy3D(const CUDA_MEMCPY3D* copy) {
  Call call("cuMemcpy3D");
  return call([&] {
    Context& context = current_context();
    require(copy != nullptr);
    Lock lock = lock_machine();
    if (moves_nothing(*copy)) return CUDA_SUCCESS;
    const Box box = box_of(lock, *copy);
    call.note("bytes", box.size_bytes());
    const OperationPtr operation = make_transfer(context, box, pageable_pace());
    enqueue(lock, context.default_stream, operation, nullptr, Worker::caller);
    machine().scheduler.wait(lock, operation);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemcpy3DAsync(const CUDA_MEMCPY3D* copy, CUstream handle) {
  Call call("cuMemcpy3DAsync");
  return call([&] {
    require(copy != nullptr);
    return enqueue_box(call, *copy, handle);
  });
}

CUresult CUDAAPI cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream handle) {
  Call call("cuMemcpy2DAsync");
  return call([&] {
    require(copy != nullptr);
    return enqueue_box(call, as_3d(*copy), handle);
  });
}

}  // extern "C"
