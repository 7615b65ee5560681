// Symbols with a newer one of the same public name, which cuda.h hides behind macros.
// Their successors are cuEventElapsedTime_v2 (CUDA 12.8) and cuGetProcAddress_v2 (CUDA 12.0).
#pragma once

#include "cuda_api.hpp"

#undef cuEventElapsedTime
#undef cuGetProcAddress

extern "C" {
#pragma GCC visibility push(default)
CUresult CUDAAPI cuEventElapsedTime(float* milliseconds, CUevent first, CUevent last);
CUresult CUDAAPI cuGetProcAddress(const char* symbol, void** function, int version,
                                  cuuint64_t flags);
#pragma GCC visibility pop
}
