// cuCtx* and cuDevicePrimaryCtx*: the current contexts of threads.
#include "api/call.hpp"
#include "api/context.hpp"
#include "machine/machine.hpp"
#include "memory/memory.hpp"
#include "streams/stream_capture.hpp"

namespace isthmus::emulator {
namespace {

void forget_handles(const Context& context) {
  const auto of_context = [&](const auto& object) { return object.context == &context; };
  EmulatedMachine& state = machine();
  std::erase_if(state.captures, [&](const auto& each) { return of_context(*each.stream); });
  state.functions.remove_if([&](const Function& each) { return of_context(*each.module); });
  state.modules.remove_if(of_context);
  state.executable_graphs.remove_if(of_context);
  state.arrays.remove_if(of_context);
  state.events.remove_if(of_context);
  state.streams.remove_if(of_context);
}

/// Frees every stream, event, module and range of a context that is no longer retained.
///
/// Waits for its work, as a real driver does, except that streams waiting for a value stop waiting.
void release_everything(Lock& lock, Context& context) {
  context.closing = true;
  drain(lock, context);
  context.closing = false;
  if (context.num_retained > 0) return;  // it was retained again meanwhile
  forget_handles(context);
  context.thread_streams.clear();
  context.peers = {};
  const std::vector<Range> ranges = machine().addresses.remove_all_of(context);
  for (const Range& range : ranges) give_back_block(lock, range);
  lock.unlock();
  for (const Range& range : ranges) unmap(range);
}

/// A thread's current contexts, innermost last. It has no destructor, so that destructors of other
/// objects that run later can still make driver calls.
struct CurrentContexts {
  static constexpr std::size_t kMaxDepth = 64;
  std::array<Context*, kMaxDepth> stack;
  std::size_t depth;

  Context* top() const { return depth > 0 ? stack[depth - 1] : nullptr; }
  void push(Context* context) {
    require(depth < kMaxDepth, CUDA_ERROR_OUT_OF_MEMORY);
    stack[depth++] = context;
  }
};
thread_local constinit CurrentContexts current{};

Context& context_of(CUcontext handle) {
  for (Device& device : machine().devices) {
    if (device.context.handle() == handle) return device.context;
  }
  const Lock lock = lock_machine();
  for (const auto& context : machine().created_contexts) {
    if (context->handle() == handle) return *context;
  }
  throw Refusal{CUDA_ERROR_INVALID_CONTEXT};
}

bool alive(const Context& context) { return context.num_retained > 0; }

/// Throws Refusal(DEVICE_UNAVAILABLE) for a device that another process uses exclusively.
void require_free(CUdevice ordinal) {
  const Profile& profile = machine().profile();
  require(ordinal < profile.num_devices - profile.num_busy_devices, CUDA_ERROR_DEVICE_UNAVAILABLE);
}

void require_initialised() { require(machine().initialised, CUDA_ERROR_NOT_INITIALIZED); }

}  // namespace

Context& current_context() {
  require_initialised();
  Context* context = current.top();
  require(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  require(alive(*context), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  return *context;
}

Device& device_at(CUdevice ordinal) {
  require_initialised();
  require(ordinal >= 0 && ordinal < machine().profile().num_devices, CUDA_ERROR_INVALID_DEVICE);
  return machine().devices[static_cast<std::size_t>(ordinal)];
}

Device& device_of(const Context& context) {
  return machine().devices[static_cast<std::size_t>(context.ordinal)];
}

void drain(Lock& lock, Context& context) {
  std::vector<OperationPtr> last = std::move(context.orphans);
  context.orphans.clear();
  last.push_back(context.default_stream->last);
  for_each_stream(lock, context, [&](const Stream& stream) { last.push_back(stream.last); });
  for (const OperationPtr& operation : last) machine().scheduler.wait(lock, operation);
}

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice ordinal) {
  return Call("cuDevicePrimaryCtxRetain")([&] {
    Device& device = device_at(ordinal);
    require(context != nullptr);
    require_free(ordinal);
    const Lock lock = lock_machine();
    if (device.context.num_retained++ == 0) device.context.id = next_handle();
    *context = device.context.handle();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice ordinal) {
  return Call("cuDevicePrimaryCtxRelease")([&] {
    Context& context = device_at(ordinal).context;
    Lock lock = lock_machine();
    require(context.num_retained > 0, CUDA_ERROR_INVALID_CONTEXT);
    if (--context.num_retained == 0) release_everything(lock, context);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice ordinal) {
  return Call("cuDevicePrimaryCtxReset")([&] {
    Context& context = device_at(ordinal).context;
    Lock lock = lock_machine();
    context.num_retained = 0;
    release_everything(lock, context);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxCreate(CUcontext* handle, CUctxCreateParams* parameters, unsigned int flags,
                             CUdevice ordinal) {
  return Call("cuCtxCreate")([&] {
    device_at(ordinal);
    require(handle != nullptr && parameters == nullptr && flags == 0);
    require_free(ordinal);
    auto context = std::make_unique<Context>();
    prepare(*context, ordinal);
    context->id = next_handle();
    context->num_retained = 1;
    current.push(context.get());
    *handle = context->handle();
    const Lock lock = lock_machine();
    machine().created_contexts.push_back(std::move(context));
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxDestroy(CUcontext handle) {
  return Call("cuCtxDestroy")([&] {
    require_initialised();
    Context& context = context_of(handle);
    require(alive(context), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    if (current.top() == &context) --current.depth;
    Lock lock = lock_machine();
    context.num_retained = 0;
    release_everything(lock, context);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxGetId(CUcontext handle, unsigned long long* id) {
  return Call("cuCtxGetId")([&] {
    const Context& context = handle == nullptr ? current_context() : context_of(handle);
    require(id != nullptr);
    *id = context.id;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned int* flags, int* active) {
  return Call("cuDevicePrimaryCtxGetState")([&] {
    const Context& context = device_at(ordinal).context;
    require(flags != nullptr && active != nullptr);
    *flags = 0;
    *active = alive(context) ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext handle) {
  return Call("cuCtxPushCurrent")([&] {
    require_initialised();
    require(handle != nullptr);
    Context& context = context_of(handle);
    require(alive(context), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    current.push(&context);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext* handle) {
  return Call("cuCtxPopCurrent")([&] {
    require_initialised();
    require(current.depth > 0, CUDA_ERROR_INVALID_CONTEXT);
    if (handle != nullptr) *handle = current.top()->handle();
    --current.depth;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext* handle) {
  return Call("cuCtxGetCurrent")([&] {
    require_initialised();
    require(handle != nullptr);
    *handle = current.depth > 0 ? current.top()->handle() : nullptr;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext handle) {
  return Call("cuCtxSetCurrent")([&] {
    require_initialised();
    Context* context = handle != nullptr ? &context_of(handle) : nullptr;
    require(context == nullptr || alive(*context), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    if (current.depth > 0) --current.depth;
    if (context != nullptr) current.push(context);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice* ordinal) {
  return Call("cuCtxGetDevice")([&] {
    const Context& context = current_context();
    require(ordinal != nullptr);
    *ordinal = context.ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxSynchronize() {
  return Call("cuCtxSynchronize")([&] {
    Context& context = current_context();
    Lock lock = lock_machine();
    require_no_capture_at_all(lock, context);
    drain(lock, context);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
