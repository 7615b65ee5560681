// cuDeviceCanAccessPeer, cuCtx*PeerAccess, cuMemcpyPeerAsync: access and copies between devices.
#include "api/call.hpp"
#include "api/context.hpp"
#include "copies/addressed_copies.hpp"
#include "machine/machine.hpp"
#include "memory/memory.hpp"

namespace isthmus::emulator {
namespace {

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
