// cuGetErrorName and cuGetErrorString.
#include <algorithm>
#include <array>

#include "api/call.hpp"

namespace isthmus::emulator {
namespace {

struct ErrorText {
  CUresult code = CUDA_SUCCESS;
  const char* name = nullptr;
  const char* text = nullptr;
};

#define ISTHMUS_CUDA_ERROR(code, text) \
  ErrorText { code, #code, text }

// Every error of the CUDA driver API, with a driver's text or a text made from its name.
// Source: cuda.h of CUDA 13.0, CUresult.
constexpr auto kErrors = std::to_array({
    ISTHMUS_CUDA_ERROR(CUDA_SUCCESS, "no error"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_PROFILER_DISABLED, "profiler disabled"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_PROFILER_NOT_INITIALIZED, "profiler not initialized"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_PROFILER_ALREADY_STARTED, "profiler already started"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_PROFILER_ALREADY_STOPPED, "profiler already stopped"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, "call requires newer driver"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_DEVICE_UNAVAILABLE, "device unavailable"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_DEVICE_NOT_LICENSED, "device not licensed"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, "context already current"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_MAP_FAILED, "map failed"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_UNMAP_FAILED, "unmap failed"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_ARRAY_IS_MAPPED, "array is mapped"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_ALREADY_MAPPED, "already mapped"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU, "no binary for gpu"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_ALREADY_ACQUIRED, "already acquired"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_NOT_MAPPED, "not mapped"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, "not mapped as array"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_NOT_MAPPED_AS_POINTER, "not mapped as pointer"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_UNSUPPORTED_LIMIT, "unsupported limit"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, "context already in use"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access unsupported"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_INVALID_PTX, "invalid ptx"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, "invalid graphics context"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_NVLINK_UNCORRECTABLE, "nvlink uncorrectable"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "jit compiler not found"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "unsupported ptx version"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_JIT_COMPILATION_DISABLED, "jit compilation disabled"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "unsupported exec affinity"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC, "unsupported devside sync"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_CONTAINED, "contained"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_INVALID_SOURCE, "invalid source"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "shared object symbol not found"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, "shared object init failed"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_OPERATING_SYSTEM,
                       "OS call failed or operation not supported on this OS"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_ILLEGAL_STATE, "illegal state"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_LOSSY_QUERY, "lossy query"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "launch out of resources"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, "launch incompatible texturing"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access already enabled"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access not enabled"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "primary context active"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_ASSERT, "assert"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_TOO_MANY_PEERS, "too many peers"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                       "part or all of the requested memory range is already mapped"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
                       "pointer does not correspond to a registered memory region"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_ILLEGAL_INSTRUCTION, "illegal instruction"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_INVALID_ADDRESS_SPACE, "invalid address space"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_INVALID_PC, "invalid pc"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "cooperative launch too large"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_TENSOR_MEMORY_LEAK, "tensor memory leak"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_NOT_PERMITTED, "not permitted"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_SYSTEM_NOT_READY, "system not ready"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
                       "system has unsupported display driver / cuda driver combination"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, "compat not supported on device"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_MPS_CONNECTION_FAILED, "mps connection failed"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_MPS_RPC_FAILURE, "mps rpc failure"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_MPS_SERVER_NOT_READY, "mps server not ready"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, "mps max clients reached"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, "mps max connections reached"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_MPS_CLIENT_TERMINATED, "mps client terminated"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_CDP_NOT_SUPPORTED, "cdp not supported"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_CDP_VERSION_MISMATCH, "cdp version mismatch"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "stream capture unsupported"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "stream capture invalidated"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_MERGE, "stream capture merge"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "stream capture unmatched"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "stream capture unjoined"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "stream capture isolation"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "stream capture implicit"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_CAPTURED_EVENT, "captured event"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "stream capture wrong thread"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_TIMEOUT, "timeout"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "graph exec update failure"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_EXTERNAL_DEVICE, "external device"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_INVALID_CLUSTER_SIZE, "invalid cluster size"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_FUNCTION_NOT_LOADED, "function not loaded"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_INVALID_RESOURCE_TYPE, "invalid resource type"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "invalid resource configuration"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_KEY_ROTATION, "key rotation"),
    ISTHMUS_CUDA_ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
});

#undef ISTHMUS_CUDA_ERROR

ErrorText describe(CUresult code) {
  const auto found = std::ranges::find(kErrors, code, &ErrorText::code);
  return found != kErrors.end() ? *found : ErrorText{};
}

CUresult answer(const char** target, const char* text) {
  require(target != nullptr);
  *target = text;
  return text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuGetErrorName(CUresult code, const char** name) {
  return Call("cuGetErrorName")([&] { return answer(name, describe(code).name); });
}

CUresult CUDAAPI cuGetErrorString(CUresult code, const char** text) {
  return Call("cuGetErrorString")([&] { return answer(text, describe(code).text); });
}

}  // extern "C"
