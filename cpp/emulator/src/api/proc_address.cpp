// cuGetProcAddress: the table of this driver's functions, and their CUDA versions.
#include <algorithm>
#include <array>
#include <span>

#include "api/call.hpp"
#include "api/cuda_api.hpp"
#include "machine/machine.hpp"

namespace isthmus::emulator {
namespace {

struct Row {
  std::string_view name;  ///< the public name
  int abi;                ///< the CUDA version that introduced this signature
  void* function;
};

#define ISTHMUS_EMULATED(symbol, abi) \
  Row { #symbol, abi, reinterpret_cast<void*>(&(symbol)) }
#define ISTHMUS_EMULATED_AS(name, symbol, abi) \
  Row { #name, abi, reinterpret_cast<void*>(&(symbol)) }
const std::array kTable{
    ISTHMUS_EMULATED(cuInit, 2000),
    ISTHMUS_EMULATED(cuDriverGetVersion, 2020),
    ISTHMUS_EMULATED(cuGetErrorName, 6000),
    ISTHMUS_EMULATED(cuGetErrorString, 6000),
    ISTHMUS_EMULATED(cuGetProcAddress, 11030),
    ISTHMUS_EMULATED_AS(cuGetProcAddress, cuGetProcAddress_v2, 12000),

    ISTHMUS_EMULATED(cuDeviceGetCount, 2000),
    ISTHMUS_EMULATED(cuDeviceGet, 2000),
    ISTHMUS_EMULATED(cuDeviceGetName, 2000),
    ISTHMUS_EMULATED(cuDeviceGetUuid, 11040),
    ISTHMUS_EMULATED(cuDeviceGetPCIBusId, 4010),
    ISTHMUS_EMULATED(cuDeviceGetAttribute, 2000),
    ISTHMUS_EMULATED(cuDeviceTotalMem, 3020),

    ISTHMUS_EMULATED(cuDevicePrimaryCtxRetain, 7000),
    ISTHMUS_EMULATED(cuDevicePrimaryCtxRelease, 11000),
    ISTHMUS_EMULATED(cuDevicePrimaryCtxGetState, 7000),
    ISTHMUS_EMULATED(cuDevicePrimaryCtxReset, 11000),
    ISTHMUS_EMULATED(cuCtxCreate, 12050),
    ISTHMUS_EMULATED(cuCtxDestroy, 4000),
    ISTHMUS_EMULATED(cuCtxGetId, 12000),
    ISTHMUS_EMULATED(cuCtxPushCurrent, 4000),
    ISTHMUS_EMULATED(cuCtxPopCurrent, 4000),
    ISTHMUS_EMULATED(cuCtxGetCurrent, 4000),
    ISTHMUS_EMULATED(cuCtxSetCurrent, 4000),
    ISTHMUS_EMULATED(cuCtxGetDevice, 2000),
    ISTHMUS_EMULATED(cuCtxSynchronize, 2000),
    ISTHMUS_EMULATED(cuCtxGetStreamPriorityRange, 5050),
    ISTHMUS_EMULATED(cuDeviceCanAccessPeer, 4000),
    ISTHMUS_EMULATED(cuCtxEnablePeerAccess, 4000),
    ISTHMUS_EMULATED(cuCtxDisablePeerAccess, 4000),

    ISTHMUS_EMULATED(cuMemGetInfo, 3020),
    ISTHMUS_EMULATED(cuMemAlloc, 3020),
    ISTHMUS_EMULATED(cuMemFree, 3020),
    ISTHMUS_EMULATED(cuMemGetAddressRange, 3020),
    ISTHMUS_EMULATED(cuMemHostAlloc, 2020),
    ISTHMUS_EMULATED(cuMemAllocHost, 3020),
    ISTHMUS_EMULATED(cuMemFreeHost, 2000),
    ISTHMUS_EMULATED(cuMemHostGetDevicePointer, 3020),
    ISTHMUS_EMULATED(cuMemHostRegister, 6050),
    ISTHMUS_EMULATED(cuMemHostUnregister, 4000),
    ISTHMUS_EMULATED(cuMemAllocManaged, 6000),
    ISTHMUS_EMULATED(cuMemPrefetchAsync, 12020),
    ISTHMUS_EMULATED(cuMemPrefetchBatchAsync, 13000),
    ISTHMUS_EMULATED(cuMemDiscardAndPrefetchBatchAsync, 13000),
    ISTHMUS_EMULATED(cuMemAdvise, 12020),
    ISTHMUS_EMULATED(cuMemRangeGetAttribute, 8000),
    ISTHMUS_EMULATED(cuMemAllocAsync, 11020),
    ISTHMUS_EMULATED(cuMemAllocFromPoolAsync, 11020),
    ISTHMUS_EMULATED(cuMemFreeAsync, 11020),
    ISTHMUS_EMULATED(cuDeviceGetDefaultMemPool, 11020),
    ISTHMUS_EMULATED(cuDeviceGetMemPool, 11020),
    ISTHMUS_EMULATED(cuMemPoolGetAttribute, 11020),
    ISTHMUS_EMULATED(cuMemPoolSetAttribute, 11020),
    ISTHMUS_EMULATED(cuMemPoolTrimTo, 11020),
    ISTHMUS_EMULATED(cuMemAllocPitch, 3020),
    ISTHMUS_EMULATED(cuArrayCreate, 3020),
    ISTHMUS_EMULATED(cuArray3DCreate, 3020),
    ISTHMUS_EMULATED(cuArrayDestroy, 2000),
    ISTHMUS_EMULATED(cuMemcpy3D, 3020),

    ISTHMUS_EMULATED(cuPointerGetAttribute, 4000),
    ISTHMUS_EMULATED(cuPointerGetAttributes, 7000),
    ISTHMUS_EMULATED(cuPointerSetAttribute, 6000),
    ISTHMUS_EMULATED(cuMemGetHandleForAddressRange, 11070),
    ISTHMUS_EMULATED(cuIpcGetMemHandle, 4010),

    ISTHMUS_EMULATED(cuMemGetAllocationGranularity, 10020),
    ISTHMUS_EMULATED(cuMemCreate, 10020),
    ISTHMUS_EMULATED(cuMemRelease, 10020),
    ISTHMUS_EMULATED(cuMemAddressReserve, 10020),
    ISTHMUS_EMULATED(cuMemAddressFree, 10020),
    ISTHMUS_EMULATED(cuMemMap, 10020),
    ISTHMUS_EMULATED(cuMemUnmap, 10020),
    ISTHMUS_EMULATED(cuMemSetAccess, 10020),
    ISTHMUS_EMULATED(cuMemRetainAllocationHandle, 11000),
    ISTHMUS_EMULATED(cuMemGetAllocationPropertiesFromHandle, 10020),
    ISTHMUS_EMULATED(cuMemExportToShareableHandle, 10020),

    ISTHMUS_EMULATED(cuMemcpy, 4000),
    ISTHMUS_EMULATED(cuMemcpyAsync, 4000),
    ISTHMUS_EMULATED(cuMemcpyHtoD, 3020),
    ISTHMUS_EMULATED(cuMemcpyDtoH, 3020),
    ISTHMUS_EMULATED(cuMemcpyHtoDAsync, 3020),
    ISTHMUS_EMULATED(cuMemcpyDtoHAsync, 3020),
    ISTHMUS_EMULATED(cuMemcpyBatchAsync, 12080),
    ISTHMUS_EMULATED_AS(cuMemcpyBatchAsync, cuMemcpyBatchAsync_v2, 13000),
    ISTHMUS_EMULATED(cuMemcpyDtoD, 3020),
    ISTHMUS_EMULATED(cuMemcpyDtoDAsync, 3020),
    ISTHMUS_EMULATED(cuMemcpyPeerAsync, 4000),
    ISTHMUS_EMULATED(cuMemcpy2DAsync, 3020),
    ISTHMUS_EMULATED(cuMemcpy3DAsync, 3020),
    ISTHMUS_EMULATED(cuMemsetD8, 3020),
    ISTHMUS_EMULATED(cuMemsetD32, 3020),
    ISTHMUS_EMULATED(cuMemsetD8Async, 3020),
    ISTHMUS_EMULATED(cuMemsetD32Async, 3020),

    ISTHMUS_EMULATED(cuStreamCreate, 2000),
    ISTHMUS_EMULATED(cuStreamCreateWithPriority, 5050),
    ISTHMUS_EMULATED(cuStreamDestroy, 4000),
    ISTHMUS_EMULATED(cuStreamQuery, 2000),
    ISTHMUS_EMULATED(cuStreamGetId, 12000),
    ISTHMUS_EMULATED(cuStreamGetFlags, 5050),
    ISTHMUS_EMULATED(cuStreamSynchronize, 2000),
    ISTHMUS_EMULATED(cuStreamWaitEvent, 3020),
    ISTHMUS_EMULATED(cuStreamBeginCapture, 10010),
    ISTHMUS_EMULATED(cuStreamIsCapturing, 10000),
    ISTHMUS_EMULATED(cuStreamEndCapture, 10000),
    ISTHMUS_EMULATED(cuThreadExchangeStreamCaptureMode, 10010),
    ISTHMUS_EMULATED(cuStreamWaitValue32, 11070),
    ISTHMUS_EMULATED(cuStreamWriteValue32, 11070),
    ISTHMUS_EMULATED(cuLaunchHostFunc, 10000),

    ISTHMUS_EMULATED(cuGraphCreate, 10000),
    ISTHMUS_EMULATED(cuGraphDestroy, 10000),
    ISTHMUS_EMULATED(cuGraphAddMemcpyNode, 10000),
    ISTHMUS_EMULATED(cuGraphInstantiateWithFlags, 11040),
    ISTHMUS_EMULATED(cuGraphLaunch, 10000),
    ISTHMUS_EMULATED(cuGraphExecDestroy, 10000),

    ISTHMUS_EMULATED(cuEventCreate, 2000),
    ISTHMUS_EMULATED(cuEventDestroy, 4000),
    ISTHMUS_EMULATED(cuEventRecord, 2000),
    ISTHMUS_EMULATED(cuEventRecordWithFlags, 11010),
    ISTHMUS_EMULATED(cuEventQuery, 2000),
    ISTHMUS_EMULATED(cuEventSynchronize, 2000),
    ISTHMUS_EMULATED(cuEventElapsedTime, 2000),
    ISTHMUS_EMULATED_AS(cuEventElapsedTime, cuEventElapsedTime_v2, 12080),

    ISTHMUS_EMULATED(cuModuleLoadData, 2000),
    ISTHMUS_EMULATED(cuModuleUnload, 2000),
    ISTHMUS_EMULATED(cuModuleGetFunction, 2000),
    ISTHMUS_EMULATED(cuLaunchKernel, 4000),
    ISTHMUS_EMULATED(cuLaunchKernelEx, 11060),
};
/// For CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM; what isn't here is the same with it.
const std::array kPerThread{
    ISTHMUS_EMULATED_AS(cuMemcpy, cuMemcpy_ptds, 7000),
    ISTHMUS_EMULATED_AS(cuMemcpyAsync, cuMemcpyAsync_ptsz, 7000),
    ISTHMUS_EMULATED_AS(cuMemcpyHtoD, cuMemcpyHtoD_v2_ptds, 7000),
    ISTHMUS_EMULATED_AS(cuMemcpyDtoH, cuMemcpyDtoH_v2_ptds, 7000),
    ISTHMUS_EMULATED_AS(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2_ptsz, 7000),
    ISTHMUS_EMULATED_AS(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2_ptsz, 7000),
    ISTHMUS_EMULATED_AS(cuStreamSynchronize, cuStreamSynchronize_ptsz, 7000),
};
#undef ISTHMUS_EMULATED
#undef ISTHMUS_EMULATED_AS

bool missing_here(std::string_view name) {
  const bool memory_operation = name == "cuStreamWaitValue32" || name == "cuStreamWriteValue32";
  const bool absent = memory_operation && !machine().profile().stream_memory_operations;
  return absent || faults().hidden(name);
}

struct Answer {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
};

/// The newest function of that name that existed in `version`.
Answer look_up(std::span<const Row> table, std::string_view name, int version) {
  Answer answer;
  if (missing_here(name)) return answer;
  int newest_abi = 0;
  for (const Row& row : table) {
    if (row.name != name) continue;
    if (answer.function == nullptr) answer.status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    if (row.abi > version || row.abi <= newest_abi) continue;
    newest_abi = row.abi;
    answer = {row.function, CU_GET_PROC_ADDRESS_SUCCESS};
  }
  return answer;
}

Answer checked_look_up(const char* symbol, void** function, int version, cuuint64_t flags) {
  require(symbol != nullptr && function != nullptr &&
          flags <= CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  require(version <= machine().profile().driver_version);
  Answer answer;
  if (flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
    answer = look_up(kPerThread, symbol, version);
  if (answer.status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND)
    answer = look_up(kTable, symbol, version);
  *function = answer.function;
  return answer;
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuGetProcAddress_v2(const char* symbol, void** function, int version,
                                     cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  return Call("cuGetProcAddress")([&] {
    const Answer answer = checked_look_up(symbol, function, version, flags);
    if (status != nullptr) *status = answer.status;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGetProcAddress(const char* symbol, void** function, int version,
                                  cuuint64_t flags) {
  return Call("cuGetProcAddress")([&] {
    const Answer answer = checked_look_up(symbol, function, version, flags);
    return answer.function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
  });
}

}  // extern "C"
