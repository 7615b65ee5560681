// What the programs of the tests begin with. They are linked with libcuda.so.1, as its users are.
#ifndef DRIVER_H
#define DRIVER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulator.h"

#define MUST(call)                                                        \
  do {                                                                    \
    CUresult result_ = (call);                                            \
    if (result_ != CUDA_SUCCESS) {                                        \
      printf("%s:%d %s -> %d\n", __FILE__, __LINE__, #call, (int)result_); \
      fflush(stdout);                                                     \
      _exit(9);                                                           \
    }                                                                     \
  } while (0)

enum { KIB = 1024, MIB = 1024 * 1024 };
/// What exec replaces both ways: uploads of up to 2 MiB are always the driver's.
enum { LONG = 3 * MIB };

static CUcontext primary;

__attribute__((unused)) static void begin(void) {
  const char* profile = getenv("PROFILE");
  if (profile != NULL) isthmus_emulator_select_profile(profile);
  MUST(cuInit(0));
  MUST(cuDevicePrimaryCtxRetain(&primary, 0));
  MUST(cuCtxSetCurrent(primary));
}

__attribute__((unused)) static CUdeviceptr device_memory(size_t bytes) {
  CUdeviceptr memory = 0;
  MUST(cuMemAlloc(&memory, bytes));
  return memory;
}

/// Host memory with a pattern of its own for each seed.
__attribute__((unused)) static unsigned char* pattern(size_t bytes, unsigned seed) {
  unsigned char* memory = malloc(bytes);
  for (size_t i = 0; i < bytes; ++i) memory[i] = (unsigned char)((i * 31 + i / 251 + seed) & 0xff);
  return memory;
}

/// One number for many bytes.
__attribute__((unused)) static unsigned long sum(const unsigned char* memory, size_t bytes) {
  unsigned long total = 1469598103934665603ul;
  for (size_t i = 0; i < bytes; ++i) total = (total ^ memory[i]) * 1099511628211ul;
  return total;
}

/// The same of a device's bytes, read through pinned memory, which no copy of exec's is.
__attribute__((unused)) static unsigned long sum_on_device(CUdeviceptr memory, size_t bytes) {
  void* pinned = NULL;
  MUST(cuMemHostAlloc(&pinned, bytes, 0));
  MUST(cuMemcpyDtoH(pinned, memory, bytes));
  unsigned long total = sum(pinned, bytes);
  MUST(cuMemFreeHost(pinned));
  return total;
}

/// A flag in pinned memory that holds a stream until it is raised.
typedef struct {
  volatile unsigned* value;
  CUdeviceptr address;
} Gate;
__attribute__((unused)) static Gate hold(CUstream stream) {
  void* memory = NULL;
  Gate gate;
  MUST(cuMemHostAlloc(&memory, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  gate.value = memory;
  *gate.value = 0;
  MUST(cuMemHostGetDevicePointer(&gate.address, memory, 0));
  MUST(cuStreamWaitValue32(stream, gate.address, 1, CU_STREAM_WAIT_VALUE_GEQ));
  return gate;
}
__attribute__((unused)) static void let_go(Gate gate) { *gate.value = 1; }

#endif
