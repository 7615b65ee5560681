// cuMemset*, cuMemcpyDtoD*, cuMemcpyPeerAsync, cuDeviceCanAccessPeer, cuCtx*PeerAccess: work inside
// the device, and access and copies between two.
#include "api/call.hpp"
#include "api/context.hpp"
#include "copies/addressed_copies.hpp"
#include "machine/machine.hpp"
#include "memory/memory.hpp"
#include "streams/stream_capture.hpp"

namespace isthmus::emulator {
namespace {

struct Fill {
  CUdeviceptr target;
  unsigned pattern;
  std::size_t pattern_bytes;
  std::size_t size_bytes;
};

OperationPtr make_fill(Context& context, const Fill& fill) {
  auto operation = std::make_shared<Operation>();
  operation->lane = &device_of(context).inside;
  operation->expected = inside_pace().latency + inside_pace().time_for(fill.size_bytes);
  operation->work = [fill](Time start) {
    return fill_bytes(to_pointer(fill.target), fill.pattern, fill.pattern_bytes, fill.size_bytes,
                      inside_pace(), start);
  };
  return operation;
}

/// Whether the call waits for the operation that it started.
enum class Ending { returns_at_once, waits_if_synchronous };

void end(Lock& lock, const OperationPtr& operation, Ending ending, bool synchronous) {
  if (ending == Ending::waits_if_synchronous && synchronous)
    machine().scheduler.wait(lock, operation);
}

CUresult fill(const char* symbol, const Fill& fill, CUstream stream, Ending ending) {
  Call call(symbol);
  return call([&] {
    current_context();
    require(fill.target % fill.pattern_bytes == 0);
    Lock lock = lock_machine();
    if (fill.size_bytes > 0) require_device_range(lock, fill.target, fill.size_bytes);
    Context& context = current_context();
    const StreamPtr found = find_stream(lock, context, stream);
    call.note("bytes", fill.size_bytes).note("stream", found->number);
    if (fill.size_bytes == 0) return CUDA_SUCCESS;
    const OperationPtr operation = make_fill(context, fill);
    enqueue(lock, found, operation);
    end(lock, operation, ending, is_synchronous(lock, fill.target));
    return CUDA_SUCCESS;
  });
}

/// Inside the device, or between two.
CUresult copy_inside(const char* symbol, const AddressedCopy& move, CUstream stream,
                     Ending ending) {
  Call call(symbol);
  return call([&] {
    Context& context = current_context();
    Lock lock = lock_machine();
    const StreamPtr found = find_stream(lock, context, stream);
    call.note("bytes", move.size_bytes).note("stream", found->number);
    if (move.size_bytes == 0) return CUDA_SUCCESS;
    require_device_range(lock, move.target, move.size_bytes);
    require_device_range(lock, move.source, move.size_bytes);
    if (record_if_captured(lock, found, {move, {}})) return CUDA_SUCCESS;
    const OperationPtr operation = make_copy(lock, context, move);
    enqueue(lock, found, operation);
    end(lock, operation, ending,
        is_synchronous(lock, move.target) || is_synchronous(lock, move.source));
    return CUDA_SUCCESS;
  });
}

Context& alive_context(CUcontext handle) {
  for (Device& device : machine().devices) {
    if (device.context.handle() == handle && device.context.num_retained > 0) return device.context;
  }
  throw Refusal{CUDA_ERROR_INVALID_CONTEXT};
}

bool& access_to(Context& context, const Context& peer) {
  return context.peers[static_cast<std::size_t>(peer.ordinal)];
}

void require_memory_of(Lock& lock, const Context& context, CUdeviceptr address,
                       std::size_t size_bytes) {
  require_device_range(lock, address, size_bytes);
  const Range* range = machine().addresses.covering(address, 1);
  require(range->device == context.ordinal);
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr target, unsigned char value, std::size_t count,
                                 CUstream stream) {
  return fill("cuMemsetD8Async", {target, value, 1, count}, stream, Ending::returns_at_once);
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr target, unsigned int value, std::size_t count,
                                  CUstream stream) {
  return fill("cuMemsetD32Async", {target, value, 4, count * 4}, stream, Ending::returns_at_once);
}

CUresult CUDAAPI cuMemsetD8(CUdeviceptr target, unsigned char value, std::size_t count) {
  return fill("cuMemsetD8", {target, value, 1, count}, nullptr, Ending::waits_if_synchronous);
}

CUresult CUDAAPI cuMemsetD32(CUdeviceptr target, unsigned int value, std::size_t count) {
  return fill("cuMemsetD32", {target, value, 4, count * 4}, nullptr, Ending::waits_if_synchronous);
}

CUresult CUDAAPI cuMemcpyDtoD(CUdeviceptr target, CUdeviceptr source, std::size_t size_bytes) {
  return copy_inside("cuMemcpyDtoD", {target, source, size_bytes}, nullptr,
                     Ending::waits_if_synchronous);
}

CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr target, CUdeviceptr source, std::size_t size_bytes,
                                   CUstream stream) {
  return copy_inside("cuMemcpyDtoDAsync", {target, source, size_bytes}, stream,
                     Ending::returns_at_once);
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int* can_access, CUdevice device, CUdevice peer) {
  return Call("cuDeviceCanAccessPeer")([&] {
    device_at(device);
    device_at(peer);
    require(can_access != nullptr);
    *can_access = device != peer && machine().profile().peer_access ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext handle, unsigned int flags) {
  return Call("cuCtxEnablePeerAccess")([&] {
    Context& context = current_context();
    require(flags == 0);
    const Lock lock = lock_machine();
    const Context& peer = alive_context(handle);
    require(&peer != &context, CUDA_ERROR_INVALID_CONTEXT);
    require(machine().profile().peer_access, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    require(!access_to(context, peer), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    access_to(context, peer) = true;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext handle) {
  return Call("cuCtxDisablePeerAccess")([&] {
    Context& context = current_context();
    const Lock lock = lock_machine();
    const Context& peer = alive_context(handle);
    require(access_to(context, peer), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    access_to(context, peer) = false;
    return CUDA_SUCCESS;
  });
}

// CUDA's signature.
// NOLINTNEXTLINE(readability-function-size)
CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr target, CUcontext target_context, CUdeviceptr source,
                                   CUcontext source_context, std::size_t size_bytes,
                                   CUstream stream_handle) {
  Call call("cuMemcpyPeerAsync");
  return call([&] {
    Context& context = current_context();
    Lock lock = lock_machine();
    const StreamPtr stream = find_stream(lock, context, stream_handle);
    call.note("bytes", size_bytes).note("stream", stream->number);
    if (size_bytes == 0) return CUDA_SUCCESS;
    require_memory_of(lock, alive_context(target_context), target, size_bytes);
    require_memory_of(lock, alive_context(source_context), source, size_bytes);
    enqueue(lock, stream, make_copy(lock, context, {target, source, size_bytes}));
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
