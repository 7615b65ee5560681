// cuEvent*: points on the modelled timeline.
#include "api/call.hpp"
#include "api/context.hpp"
#include "api/superseded.hpp"
#include "machine/machine.hpp"

namespace isthmus::emulator {
namespace {

constexpr unsigned int kEventFlags = unsigned{CU_EVENT_BLOCKING_SYNC} |
                                     unsigned{CU_EVENT_DISABLE_TIMING} |
                                     unsigned{CU_EVENT_INTERPROCESS};

constexpr float kNonsenseMilliseconds = -1;

Time timestamp(const Event& event) {
  require(event.timed && event.recorded != nullptr, CUDA_ERROR_INVALID_HANDLE);
  require(event.recorded->done, CUDA_ERROR_NOT_READY);
  return event.recorded->finished_at;
}

/// Like CUDA, first checks that both events are usable, then that both are complete.
CUresult elapsed(float* milliseconds, CUevent first_handle, CUevent last_handle) {
  current_context();
  require(milliseconds != nullptr);
  const Lock lock = lock_machine();
  const EventPtr first = machine().events.find(first_handle);
  const EventPtr last = machine().events.find(last_handle);
  require(first->context == last->context, CUDA_ERROR_INVALID_HANDLE);
  for (const EventPtr& event : {first, last}) {
    require(event->timed && event->recorded != nullptr, CUDA_ERROR_INVALID_HANDLE);
  }
  const Time begin = timestamp(*first);
  const float between = std::chrono::duration<float, std::milli>(timestamp(*last) - begin).count();
  *milliseconds = machine().profile().usable_event_times ? between : kNonsenseMilliseconds;
  return CUDA_SUCCESS;
}

CUresult record(Call& call, CUevent event_handle, CUstream stream_handle) {
  Context& context = current_context();
  Lock lock = lock_machine();
  const StreamPtr stream = find_stream(lock, context, stream_handle);
  const EventPtr event = machine().events.find(event_handle);
  require(event->context == &context, CUDA_ERROR_INVALID_HANDLE);
  call.note("stream", stream->number);
  auto operation = std::make_shared<Operation>();
  enqueue(lock, stream, operation);
  event->recorded = std::move(operation);
  return CUDA_SUCCESS;
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuEventCreate(CUevent* handle, unsigned int flags) {
  return Call("cuEventCreate")([&] {
    Context& context = current_context();
    require(handle != nullptr && (flags & ~kEventFlags) == 0);
    auto event = std::make_shared<Event>();
    event->context = &context;
    event->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
    const Lock lock = lock_machine();
    *handle = machine().events.add(std::move(event));
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuEventDestroy(CUevent handle) {
  return Call("cuEventDestroy")([&] {
    current_context();
    const Lock lock = lock_machine();
    machine().events.remove(handle);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream) {
  Call call("cuEventRecord");
  return call([&] { return record(call, event, stream); });
}

CUresult CUDAAPI cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
  Call call("cuEventRecordWithFlags");
  return call([&] {
    require(flags == 0 || flags == CU_EVENT_RECORD_EXTERNAL);
    return record(call, event, stream);
  });
}

CUresult CUDAAPI cuEventQuery(CUevent handle) {
  return Call("cuEventQuery")([&] {
    current_context();
    Lock lock = lock_machine();
    require_no_capture(lock);
    const EventPtr event = machine().events.find(handle);
    const bool reached = event->recorded == nullptr || event->recorded->done;
    return query_result(lock, reached);
  });
}

CUresult CUDAAPI cuEventSynchronize(CUevent handle) {
  return Call("cuEventSynchronize")([&] {
    current_context();
    Lock lock = lock_machine();
    require_no_capture(lock);
    const EventPtr event = machine().events.find(handle);
    machine().scheduler.wait(lock, OperationPtr(event->recorded));
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuEventElapsedTime_v2(float* milliseconds, CUevent first, CUevent last) {
  return Call("cuEventElapsedTime")([&] { return elapsed(milliseconds, first, last); });
}

CUresult CUDAAPI cuEventElapsedTime(float* milliseconds, CUevent first, CUevent last) {
  return Call("cuEventElapsedTime")([&] { return elapsed(milliseconds, first, last); });
}

}  // extern "C"
