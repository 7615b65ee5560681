// Copies that can't be made. What the driver says, the bytes around the target, and what comes next.
#include <fcntl.h>

#include "driver.h"

enum { BYTES = LONG };

static CUdeviceptr device;

static void tell(const char* what, CUresult result) { printf("%s: %d\n", what, (int)result); }

static void* pages(int protection) {
  return mmap(NULL, BYTES, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/// What the driver refuses.
static void refused(void) {
  unsigned char* host = pattern(4 * BYTES, 1);
  CUdeviceptr freed = device_memory(BYTES);
  MUST(cuMemFree(freed));
  CUstream destroyed;
  MUST(cuStreamCreate(&destroyed, CU_STREAM_NON_BLOCKING));
  MUST(cuStreamDestroy(destroyed));
  tell("freed target", cuMemcpyHtoD(freed, host, BYTES));
  tell("freed source", cuMemcpyDtoH(host, freed, BYTES));
  tell("no target", cuMemcpyHtoD(0, host, BYTES));
  tell("no source", cuMemcpyHtoD(device, NULL, BYTES));
  tell("host target", cuMemcpyHtoD((CUdeviceptr)host, host + BYTES, BYTES));
  tell("too long up", cuMemcpyHtoD(device, host, 3 * BYTES));
  tell("too long down", cuMemcpyDtoH(host, device, 3 * BYTES));
  tell("past the end", cuMemcpyHtoD(device + BYTES / 2, host, BYTES));
  tell("no stream", cuMemcpyHtoDAsync(device, host, BYTES, destroyed));
  tell("no stream", cuMemcpyDtoHAsync(host, device, BYTES, destroyed));
  MUST(cuMemHostRegister(host, BYTES / 2, 0));
  tell("pinned at first", cuMemcpyHtoD(device, host, BYTES));
  MUST(cuMemHostUnregister(host));
  MUST(cuMemHostRegister(host + BYTES / 2, BYTES, 0));
  tell("pinned at last", cuMemcpyHtoD(device, host, BYTES));
  tell("pinned at last", cuMemcpyDtoH(host, device, BYTES));
  MUST(cuMemHostUnregister(host + BYTES / 2));
  CUcontext none = NULL;
  MUST(cuCtxSetCurrent(none));
  tell("no context", cuMemcpyHtoD(device, host, BYTES));
  MUST(cuCtxSetCurrent(primary));
  MUST(cuCtxSynchronize());
  printf("%lx %lx\n", sum(host, 4 * BYTES), sum_on_device(device, BYTES));
  tell("and one that can", cuMemcpyHtoD(device, host, BYTES));
}

/// Memory that ends the program, whoever copies.
static void forbidden(const char* what) {
  unsigned char* host = NULL;
  if (strcmp(what, "unmapped") == 0) {
    host = pages(PROT_READ | PROT_WRITE);
    munmap(host + BYTES / 2, BYTES / 2);
  } else if (strcmp(what, "unreadable") == 0) {
    host = pages(PROT_NONE);
  } else if (strcmp(what, "read_only") == 0) {
    MUST(cuMemcpyDtoH(pages(PROT_READ), device, BYTES));
  } else {
    int file = memfd_create("mapped", 0);
    if (ftruncate(file, BYTES) != 0) _exit(8);
    host = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    memset(host, 3, BYTES);
    MUST(cuMemcpyHtoD(device, host, BYTES));
    MUST(cuMemcpyDtoH(host, device, BYTES));
    printf("whole %lx\n", sum(host, BYTES));
    fflush(stdout);
    if (ftruncate(file, BYTES / 2) != 0) _exit(8);
  }
  if (strcmp(what, "truncated_target") == 0) MUST(cuMemcpyDtoH(host, device, BYTES));
  MUST(cuMemcpyHtoD(device, host, BYTES));
  printf("not reached\n");
}

/// A read-only mapping can be read, and one of a file is memory like any other.
static void readable(void) {
  char path[] = "/tmp/isthmus-preload-XXXXXX";
  int file = mkstemp(path);
  unlink(path);
  unsigned char* bytes = pattern(BYTES, 9);
  if (write(file, bytes, BYTES) != BYTES) _exit(8);
  unsigned char* host = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, file, 0);
  MUST(cuMemcpyHtoD(device, host, BYTES));
  printf("%lx\n", sum_on_device(device, BYTES));
}

/// After an error that stays, every call fails.
static void broken(void) {
  unsigned char* host = pattern(BYTES, 1);
  tell("before", cuMemcpyHtoD(device, host, BYTES));
  const char* calls[] = {"cuMemcpyHtoD", "cuMemcpyDtoH", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync",
                         "cuStreamSynchronize", "cuEventSynchronize", "cuEventRecord",
                         "cuEventCreate", "cuEventQuery", "cuStreamQuery", "cuPointerGetAttributes",
                         "cuStreamWriteValue32", "cuStreamWaitEvent", "cuCtxSynchronize"};
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i)
    for (int nth = 1; nth < 500; ++nth)
      isthmus_emulator_fail_call(calls[i], nth, CUDA_ERROR_ILLEGAL_ADDRESS);
  for (int i = 0; i < 3; ++i) {
    tell("up", cuMemcpyHtoD(device, host, BYTES));
    tell("up", cuMemcpyHtoDAsync(device, host, BYTES, NULL));
    tell("down", cuMemcpyDtoH(host, device, BYTES));
    tell("down", cuMemcpyDtoHAsync(host, device, BYTES, CU_STREAM_PER_THREAD));
  }
  printf("%lx\n", sum(host, BYTES));
  isthmus_emulator_reset();
  printf("%lx\n", sum_on_device(device, BYTES));
}

int main(int argc, char** argv) {
  begin();
  device = device_memory(BYTES);
  MUST(cuMemsetD8(device, 1, BYTES));
  MUST(cuCtxSynchronize());
  const char* what = argv[1];
  if (strcmp(what, "refused") == 0) {
    refused();
  } else if (strcmp(what, "readable") == 0) {
    readable();
  } else if (strcmp(what, "broken") == 0) {
    broken();
  } else {
    forbidden(what);
  }
  return argc > 2;
}
