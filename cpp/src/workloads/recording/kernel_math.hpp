// The C library's mathematics for kernels: sqrtf, expf, ... NVRTC needs no include for them.
#pragma once

#ifndef __CUDACC_RTC__
#include <math.h>
#endif
