// Symbols with a newer version of the same public name; cuda.h hides the older ones behind macros.
// The newer ones are cuEventElapsedTime_v2 (CUDA 12.8), cuGetProcAddress_v2 (CUDA 12.0) and
// cuMemcpyBatchAsync_v2 (CUDA 13.0).
#pragma once

#include "api/cuda_api.hpp"

#undef cuEventElapsedTime
#undef cuGetProcAddress
#undef cuMemcpyBatchAsync

extern "C" {
#pragma GCC visibility push(default)
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
