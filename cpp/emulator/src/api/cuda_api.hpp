// What cuda.h declares, all of it exported, so that our definitions are checked against its ABI;
// the errors that calls answer with; and symbols with a newer version of the same public name,
// which cuda.h hides behind macros: cuEventElapsedTime_v2 (CUDA 12.8), cuGetProcAddress_v2 (CUDA
// 12.0) and cuMemcpyBatchAsync_v2 (CUDA 13.0).
#pragma once

#include <exception>

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

namespace isthmus::emulator {

struct Refusal : std::exception {
  explicit Refusal(CUresult result) : code(result) {}
  CUresult code;
};

/// Throws CUDA_ERROR_INVALID_VALUE unless `valid`.
inline void require(bool valid, CUresult code = CUDA_ERROR_INVALID_VALUE) {
  if (!valid) throw Refusal{code};
}

}  // namespace isthmus::emulator

#undef cuEventElapsedTime
#undef cuGetProcAddress
#undef cuMemcpyBatchAsync

extern "C" {
#pragma GCC visibility push(default)
// Whose default stream is the thread's own.
CUresult CUDAAPI cuMemcpy_ptds(CUdeviceptr target, CUdeviceptr source, std::size_t size_bytes);
CUresult CUDAAPI cuMemcpyAsync_ptsz(CUdeviceptr target, CUdeviceptr source, std::size_t size_bytes,
                                    CUstream stream);
CUresult CUDAAPI cuMemcpyHtoD_v2_ptds(CUdeviceptr target, const void* source,
                                      std::size_t size_bytes);
CUresult CUDAAPI cuMemcpyDtoH_v2_ptds(void* target, CUdeviceptr source, std::size_t size_bytes);
CUresult CUDAAPI cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr target, const void* source,
                                           std::size_t size_bytes, CUstream stream);
CUresult CUDAAPI cuMemcpyDtoHAsync_v2_ptsz(void* target, CUdeviceptr source, std::size_t size_bytes,
                                           CUstream stream);
CUresult CUDAAPI cuStreamSynchronize_ptsz(CUstream stream);
CUresult CUDAAPI cuEventElapsedTime(float* milliseconds, CUevent first, CUevent last);
CUresult CUDAAPI cuGetProcAddress(const char* symbol, void** function, int version,
                                  cuuint64_t flags);
// NOLINTNEXTLINE(readability-function-size)
CUresult CUDAAPI cuMemcpyBatchAsync(CUdeviceptr* targets, CUdeviceptr* sources, std::size_t* sizes,
                                    std::size_t count, CUmemcpyAttributes* attributes,
                                    std::size_t* attribute_starts, std::size_t num_attributes,
                                    std::size_t* failed_index, CUstream stream);
#pragma GCC visibility pop
}
