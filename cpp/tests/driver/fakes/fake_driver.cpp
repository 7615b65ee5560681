// A library that answers the loader's questions according to its definitions, and does nothing
// else.
#include <cstring>

#include <cuda.h>

#ifndef FAKE_INIT_RESULT
#define FAKE_INIT_RESULT CUDA_SUCCESS
#endif
#ifndef FAKE_VERSION
#define FAKE_VERSION 12020
#endif
#ifndef FAKE_MISSING
#define FAKE_MISSING ""
#endif

extern "C" {

#ifndef FAKE_WITHOUT_INIT
CUresult CUDAAPI cuInit(unsigned int) { return FAKE_INIT_RESULT; }
#endif

CUresult CUDAAPI cuGetErrorName(CUresult result, const char** name) {
  *name = result == CUDA_ERROR_UNKNOWN ? "CUDA_ERROR_UNKNOWN" : nullptr;
  return *name != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuDriverGetVersion(int* version) {
  *version = FAKE_VERSION;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int* count) {
  *count = 0;
  return FAKE_INIT_RESULT == CUDA_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

#ifndef FAKE_WITHOUT_PROC_ADDRESS
/// Stands for every function that the loader only resolves.
static CUresult CUDAAPI never_called() { return CUDA_ERROR_UNKNOWN; }

CUresult CUDAAPI cuGetProcAddress(const char* symbol, void** function, int, cuuint64_t,
                                  CUdriverProcAddressQueryResult* status) {
  const bool missing = std::strcmp(symbol, FAKE_MISSING) == 0;
  *function = missing ? nullptr : reinterpret_cast<void*>(&never_called);
  if (std::strcmp(symbol, "cuDeviceGetCount") == 0) {
    *function = reinterpret_cast<void*>(&cuDeviceGetCount);
  }
  *status = missing ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
  return CUDA_SUCCESS;
}
#endif

}  // extern "C"
