// cuEvent*: points on the modelled timeline.
// cuStreamWaitValue32, cuStreamWriteValue32: streams that wait for a value in memory, or write one.
#include <cstdint>

#include "api/call.hpp"
#include "api/context.hpp"
#include "api/cuda_api.hpp"
#include "machine/machine.hpp"
#include "memory/memory.hpp"

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

std::uint32_t* checked_word(Lock& lock, CUdeviceptr address) {
  require(address % sizeof(std::uint32_t) == 0);
  require_device_range(lock, address, sizeof(std::uint32_t));
  return reinterpret_cast<std::uint32_t*>(address);
}

using Comparison = bool (*)(std::uint32_t found, std::uint32_t wanted);

Comparison comparison(unsigned int flags) {
  switch (flags) {
    case CU_STREAM_WAIT_VALUE_GEQ:  // cyclic, as documented
      return [](std::uint32_t found, std::uint32_t wanted) {
        return static_cast<std::int32_t>(found - wanted) >= 0;
      };
    case CU_STREAM_WAIT_VALUE_EQ:
      return [](std::uint32_t found, std::uint32_t wanted) { return found == wanted; };
    case CU_STREAM_WAIT_VALUE_AND:
      return [](std::uint32_t found, std::uint32_t wanted) { return (found & wanted) != 0; };
    case CU_STREAM_WAIT_VALUE_NOR:
      return [](std::uint32_t found, std::uint32_t wanted) { return ~(found | wanted) != 0; };
    default:
      throw Refusal{CUDA_ERROR_INVALID_VALUE};
  }
}

Context& context_with_memory_operations() {
  Context& context = current_context();
  require(machine().profile().stream_memory_operations, CUDA_ERROR_NOT_SUPPORTED);
  return context;
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

CUresult CUDAAPI cuStreamWaitValue32(CUstream handle, CUdeviceptr address, cuuint32_t value,
                                     unsigned int flags) {
  Call call("cuStreamWaitValue32");
  return call([&] {
    Context& context = context_with_memory_operations();
    const Comparison holds = comparison(flags);
    Lock lock = lock_machine();
    const StreamPtr stream = find_stream(lock, context, handle);
    const std::uint32_t* word = checked_word(lock, address);
    call.note("stream", stream->number);
    auto operation = std::make_shared<Operation>();
    operation->satisfied = [holds, word, value, &context] {
      return holds(__atomic_load_n(word, __ATOMIC_ACQUIRE), value) || context.closing;
    };
    enqueue(lock, stream, operation);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamWriteValue32(CUstream handle, CUdeviceptr address, cuuint32_t value,
                                      unsigned int flags) {
  Call call("cuStreamWriteValue32");
  return call([&] {
    Context& context = context_with_memory_operations();
    require((flags & ~unsigned{CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER}) == 0);
    Lock lock = lock_machine();
    const StreamPtr stream = find_stream(lock, context, handle);
    std::uint32_t* word = checked_word(lock, address);
    call.note("stream", stream->number);
    auto operation = std::make_shared<Operation>();
    operation->lane = &device_of(context).inside;
    operation->work = [word, value](Time start) {
      __atomic_store_n(word, value, __ATOMIC_RELEASE);
      return start;
    };
    enqueue(lock, stream, operation);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
