// Pinned memory, taken and given back in every way.
#include "driver.h"

enum { BYTES = MIB };

static CUdeviceptr device;

static void tell(const char* what, CUresult result) { printf("%s: %d\n", what, (int)result); }

/// What programs ask of memory that they have pinned.
static void describe(void* memory, size_t bytes) {
  unsigned type = 0;
  unsigned managed = 0;
  CUdeviceptr address = 0;
  MUST(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)memory));
  MUST(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, (CUdeviceptr)memory));
  MUST(cuMemHostGetDevicePointer(&address, memory, 0));
  printf("type %u, managed %u, same address %d, page %d\n", type, managed,
         address == (CUdeviceptr)memory, (int)((size_t)memory % 4096));
  memset(memory, 1, bytes);
}

static void there_and_back(void* memory, unsigned seed) {
  unsigned char* wanted = pattern(BYTES, seed);
  memcpy(memory, wanted, BYTES);
  MUST(cuMemcpyHtoDAsync(device, memory, BYTES, NULL));
  MUST(cuStreamSynchronize(NULL));
  memset(memory, 0, BYTES);
  MUST(cuMemcpyDtoHAsync(memory, device, BYTES, NULL));
  MUST(cuStreamSynchronize(NULL));
  printf("%d\n", memcmp(memory, wanted, BYTES));
  free(wanted);
}

static void again_and_again(void) {
  for (unsigned i = 0; i < 20; ++i) {
    void* one = NULL;
    void* other = NULL;
    MUST(cuMemHostAlloc(&one, BYTES, i % 2 == 0 ? 0 : CU_MEMHOSTALLOC_PORTABLE));
    MUST(cuMemAllocHost(&other, BYTES + i));
    if (i == 0) describe(one, BYTES);
    there_and_back(one, i);
    there_and_back(other, i + 100);
    MUST(cuMemFreeHost(one));
    MUST(cuMemFreeHost(other));
  }
}

/// Memory that is given back while a copy uses it is nobody else's until that is complete.
static void in_use(void) {
  CUstream stream;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (unsigned i = 0; i < 10; ++i) {
    void* memory = NULL;
    void* next = NULL;
    unsigned char* wanted = pattern(BYTES, i);
    MUST(cuMemHostAlloc(&memory, BYTES, 0));
    memcpy(memory, wanted, BYTES);
    MUST(cuMemcpyHtoDAsync(device, memory, BYTES, stream));
    MUST(cuMemFreeHost(memory));
    MUST(cuMemHostAlloc(&next, BYTES, 0));
    memset(next, 0xff, BYTES);
    MUST(cuStreamSynchronize(stream));
    MUST(cuMemcpyDtoH(next, device, BYTES));
    printf("%d\n", memcmp(next, wanted, BYTES));
    MUST(cuMemFreeHost(next));
    free(wanted);
  }
}

static void refused(void) {
  void* memory = NULL;
  tell("no bytes", cuMemHostAlloc(&memory, 0, 0));
  tell("nowhere", cuMemHostAlloc(NULL, BYTES, 0));
  tell("unknown flags", cuMemHostAlloc(&memory, BYTES, 1u << 30));
  tell("too much", cuMemHostAlloc(&memory, (size_t)1 << 50, 0));
  tell("write-combined", cuMemHostAlloc(&memory, BYTES, CU_MEMHOSTALLOC_WRITECOMBINED));
  tell("free", cuMemFreeHost(memory));
  MUST(cuMemHostAlloc(&memory, BYTES, 0));
  tell("inside", cuMemFreeHost((char*)memory + 4096));
  tell("free", cuMemFreeHost(memory));
  tell("twice", cuMemFreeHost(memory));
  tell("null", cuMemFreeHost(NULL));
  tell("pageable", cuMemFreeHost(malloc(4096)));
}

/// Another context's, and one that a reset ends.
static void elsewhere(void) {
  void* memory = NULL;
  void* other = NULL;
  CUcontext created;
  MUST(cuMemHostAlloc(&memory, BYTES, 0));
  MUST(cuCtxCreate(&created, NULL, 0, 0));
  MUST(cuMemHostAlloc(&other, BYTES, 0));
  MUST(cuMemFreeHost(other));
  MUST(cuMemFreeHost(memory));
  MUST(cuCtxDestroy(created));
}

int main(int argc, char** argv) {
  begin();
  device = device_memory(BYTES);
  const char* what = argv[1];
  if (strcmp(what, "again") == 0) again_and_again();
  if (strcmp(what, "in_use") == 0) in_use();
  if (strcmp(what, "refused") == 0) refused();
  if (strcmp(what, "elsewhere") == 0) elsewhere();
  return argc > 2;
}
