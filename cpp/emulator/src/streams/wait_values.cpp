// cuStreamWaitValue32, cuStreamWriteValue32: streams that wait for a value in memory, or write one.
#include <cstdint>

#include "api/call.hpp"
#include "api/context.hpp"
#include "machine/machine.hpp"
#include "memory/memory.hpp"

namespace isthmus::emulator {
namespace {

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
