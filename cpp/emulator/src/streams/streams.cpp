// cuStream*: create, destroy, query and wait.
#include <algorithm>

#include "api/call.hpp"
#include "api/context.hpp"
#include "machine/machine.hpp"
#include "streams/stream_capture.hpp"

namespace isthmus::emulator {
namespace {

CUstream make_stream(Context& context, unsigned int flags) {
  require((flags & ~unsigned{CU_STREAM_NON_BLOCKING}) == 0);
  auto stream = std::make_shared<Stream>();
  stream->context = &context;
  stream->blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
  const Lock lock = lock_machine();
  stream->number = ++machine().num_streams_made;
  return machine().streams.add(std::move(stream));
}

/// A destroyed stream's work continues; the default stream and cuCtxSynchronize still wait for it.
void keep_orphan(Context& context, const OperationPtr& last) {
  std::erase_if(context.orphans, [](const OperationPtr& each) { return each->done.load(); });
  if (last != nullptr && !last->done) context.orphans.push_back(last);
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuStreamCreate(CUstream* stream, unsigned int flags) {
  Call call("cuStreamCreate");
  call.note("flags", flags);
  return call([&] {
    Context& context = current_context();
    require(stream != nullptr);
    *stream = make_stream(context, flags);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int) {
  return Call("cuStreamCreateWithPriority")([&] {
    Context& context = current_context();
    require(stream != nullptr);
    *stream = make_stream(context, flags);
    return CUDA_SUCCESS;
  });
}

// Priorities are accepted without effect: in CUDA an empty range says so.
CUresult CUDAAPI cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return Call("cuCtxGetStreamPriorityRange")([&] {
    current_context();
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = 0;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamDestroy(CUstream handle) {
  return Call("cuStreamDestroy")([&] {
    current_context();
    const Lock lock = lock_machine();
    const StreamPtr stream = machine().streams.remove(handle);
    keep_orphan(*stream->context, stream->last);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamQuery(CUstream handle) {
  return Call("cuStreamQuery")([&] {
    Context& context = current_context();
    Lock lock = lock_machine();
    const StreamPtr stream = find_stream(lock, context, handle);
    require_no_capture(lock);
    refuse_in_capture(lock, stream);
    const bool idle = std::ranges::all_of(unfinished(lock, *stream), [](const OperationPtr& each) {
      return each == nullptr || each->done;
    });
    return query_result(lock, idle);
  });
}

CUresult CUDAAPI cuStreamGetId(CUstream handle, unsigned long long* id) {
  return Call("cuStreamGetId")([&] {
    Context& context = current_context();
    require(id != nullptr);
    Lock lock = lock_machine();
    const StreamPtr stream = find_stream(lock, context, handle);
    // Seen with driver 580: an error for a captured stream, whose capture is then invalid.
    refuse_in_capture(lock, stream);
    *id = stream->number;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamSynchronize(CUstream handle) {
  Call call("cuStreamSynchronize");
  return call([&] {
    Context& context = current_context();
    Lock lock = lock_machine();
    const StreamPtr stream = find_stream(lock, context, handle);
    call.note("stream", stream->number);
    require_no_capture(lock);
    refuse_in_capture(lock, stream);
    drain(lock, *stream);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned int flags) {
  Call call("cuStreamWaitEvent");
  return call([&] {
    Context& context = current_context();
    require(flags == 0 || flags == CU_EVENT_WAIT_EXTERNAL);
    Lock lock = lock_machine();
    const StreamPtr stream = find_stream(lock, context, handle);
    const EventPtr event = machine().events.find(event_handle);
    call.note("stream", stream->number);
    enqueue(lock, stream, std::make_shared<Operation>(), event->recorded);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  Call call("cuLaunchHostFunc");
  return call([&] {
    Context& context = current_context();
    require(function != nullptr);
    auto operation = std::make_shared<Operation>();
    operation->lane = &device_of(context).host_functions;
    operation->work = [function, data](Time) {
      function(data);
      return Clock::now();
    };
    Lock lock = lock_machine();
    const StreamPtr stream = find_stream(lock, context, handle);
    call.note("stream", stream->number);
    enqueue(lock, stream, operation);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
