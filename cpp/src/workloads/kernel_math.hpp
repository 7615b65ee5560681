// The C library's mathematics for kernels: sqrtf, expf, ... NVRTC has them without any include.
#pragma once

#ifndef __CUDACC_RTC__
#include <math.h>
#endif
