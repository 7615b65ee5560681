// Lets the code of this folder compile for the CPU and, with NVRTC or nvcc, for the GPU.
#pragma once

#ifdef __CUDACC__
#define ISTHMUS_HOST_DEVICE __host__ __device__
#else
#define ISTHMUS_HOST_DEVICE
#endif

// NVRTC has no standard headers.
#ifdef __CUDACC_RTC__
namespace std {
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
}  // namespace std
#else
#include <cstdint>
#endif
