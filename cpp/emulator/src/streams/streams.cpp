// cuStream*: create, destroy, query and wait.
// CUDA's ordering rules: streams, the legacy default stream, and when a stream is idle.
#include <algorithm>

#include "api/call.hpp"
#include "api/context.hpp"
#include "machine/machine.hpp"
#include "streams/scheduler.hpp"
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

constexpr unsigned kTurnsBeforeNotReady = 8;

bool is_default(const Stream& stream) { return &stream == stream.context->default_stream.get(); }

/// Ordered with the legacy default stream, as CUDA documents. A new thread with the ID of one that
/// has ended inherits its stream.
StreamPtr stream_of_this_thread(Context& context) {
  StreamPtr& stream = context.thread_streams[std::this_thread::get_id()];
  if (stream == nullptr) {
    stream = std::make_shared<Stream>();
    stream->number = ++machine().num_streams_made;
    stream->context = &context;
  }
  return stream;
}

void add_blocking_streams(Lock& lock, const Context& context, std::vector<OperationPtr>& last) {
  for_each_stream(lock, context, [&](const Stream& stream) {
    if (stream.blocking) last.push_back(stream.last);
  });
  last.insert(last.end(), context.orphans.begin(), context.orphans.end());
}

}  // namespace

StreamPtr find_stream(Lock& lock, Context& context, CUstream handle) {
  if (is_default_handle(handle)) {
    refuse_beside_blocking_capture(lock, context);
    return context.default_stream;
  }
  if (handle == CU_STREAM_PER_THREAD) return stream_of_this_thread(context);
  StreamPtr stream = machine().streams.find(handle);
  require(stream->context == &context, CUDA_ERROR_INVALID_HANDLE);
  return stream;
}

void for_each_stream(Lock& lock, const Context& context,
                     const std::function<void(const Stream&)>& visit) {
  (void)lock;
  machine().streams.for_each([&](const StreamPtr& stream) {
    if (stream->context == &context) visit(*stream);
  });
  for (const auto& [thread, stream] : context.thread_streams) visit(*stream);
}

std::vector<OperationPtr> unfinished(Lock& lock, const Stream& stream) {
  std::vector<OperationPtr> last{stream.last};
  if (is_default(stream)) add_blocking_streams(lock, *stream.context, last);
  return last;
}

void enqueue(Lock& lock, const StreamPtr& stream, const OperationPtr& operation,
             const OperationPtr& also_after, Worker worker) {
  require_not_captured(lock, stream);
  std::vector<OperationPtr> after = unfinished(lock, *stream);
  if (!is_default(*stream) && stream->blocking) {
    after.push_back(stream->context->default_stream->last);
  }
  after.push_back(also_after);
  operation->stream = stream.get();
  machine().scheduler.submit(lock, operation, after, worker);
  stream->last = operation;
}

CUresult query_result(Lock& lock, bool ready) {
  lock.unlock();
  for (unsigned turn = 0; turn < kTurnsBeforeNotReady && !ready; ++turn) spin_once();
  return ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

void drain(Lock& lock, const Stream& stream) {
  for (const OperationPtr& each : unfinished(lock, stream)) machine().scheduler.wait(lock, each);
}

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
    std::erase_if(machine().captures,
                  [&](const StreamCapture& each) { return each.stream == stream; });
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

CUresult CUDAAPI cuStreamSynchronize_ptsz(CUstream handle) {
  return cuStreamSynchronize(handle == nullptr ? CU_STREAM_PER_THREAD : handle);
}

CUresult CUDAAPI cuStreamGetFlags(CUstream handle, unsigned int* flags) {
  return Call("cuStreamGetFlags")([&] {
    Context& context = current_context();
    require(flags != nullptr);
    Lock lock = lock_machine();
    *flags =
        find_stream(lock, context, handle)->blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
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
