// Copies of every kind, whose bytes and whose surroundings are told.
#include "driver.h"

enum { ALIGNED_MARGIN = 4096, SIZE = LONG + 5 };

// What programs call that are compiled for per-thread default streams.
CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr, const void*, size_t);
CUresult cuMemcpyDtoH_v2_ptds(void*, CUdeviceptr, size_t);
CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr, const void*, size_t, CUstream);
CUresult cuMemcpyDtoHAsync_v2_ptsz(void*, CUdeviceptr, size_t, CUstream);
CUresult cuMemcpy_ptds(CUdeviceptr, CUdeviceptr, size_t);
CUresult cuMemcpyAsync_ptsz(CUdeviceptr, CUdeviceptr, size_t, CUstream);
enum { WAYS = 8 };

/// A copy of each entry point, up or down.
static CUresult up_by(int way, CUdeviceptr device, void* host, size_t bytes, CUstream stream) {
  switch (way) {
    case 0: return cuMemcpyHtoD(device, host, bytes);
    case 1: return cuMemcpyHtoDAsync(device, host, bytes, stream);
    case 2: return cuMemcpy(device, (CUdeviceptr)host, bytes);
    case 3: return cuMemcpyAsync(device, (CUdeviceptr)host, bytes, stream);
    case 4: return cuMemcpyHtoD_v2_ptds(device, host, bytes);
    case 5: return cuMemcpyHtoDAsync_v2_ptsz(device, host, bytes, stream);
    case 6: return cuMemcpy_ptds(device, (CUdeviceptr)host, bytes);
    default: return cuMemcpyAsync_ptsz(device, (CUdeviceptr)host, bytes, stream);
  }
}
static CUresult down_by(int way, void* host, CUdeviceptr device, size_t bytes, CUstream stream) {
  switch (way) {
    case 0: return cuMemcpyDtoH(host, device, bytes);
    case 1: return cuMemcpyDtoHAsync(host, device, bytes, stream);
    case 2: return cuMemcpy((CUdeviceptr)host, device, bytes);
    case 3: return cuMemcpyAsync((CUdeviceptr)host, device, bytes, stream);
    case 4: return cuMemcpyDtoH_v2_ptds(host, device, bytes);
    case 5: return cuMemcpyDtoHAsync_v2_ptsz(host, device, bytes, stream);
    case 6: return cuMemcpy_ptds((CUdeviceptr)host, device, bytes);
    default: return cuMemcpyAsync_ptsz((CUdeviceptr)host, device, bytes, stream);
  }
}

/// The source may be written again at once, and a target be read.
static void there_and_back(int way, size_t bytes, size_t offset, CUstream stream) {
  CUdeviceptr device = device_memory(bytes + 2 * ALIGNED_MARGIN);
  MUST(cuMemsetD8(device, 0xaa, bytes + 2 * ALIGNED_MARGIN));
  MUST(cuCtxSynchronize());
  unsigned char* source = pattern(bytes + 64, (unsigned)way);
  unsigned char* target = malloc(bytes + 128);
  memset(target, 0xbb, bytes + 128);
  MUST(up_by(way, device + ALIGNED_MARGIN + offset, source + offset, bytes, stream));
  memset(source, 0, bytes + 64);
  MUST(down_by(way, target + 64 + offset, device + ALIGNED_MARGIN + offset, bytes, stream));
  unsigned long target_sum = sum(target, bytes + 128);
  MUST(cuCtxSynchronize());
  printf("%d %zu+%zu: %lx %lx\n", way, bytes, offset, target_sum,
         sum_on_device(device, bytes + 2 * ALIGNED_MARGIN));
  MUST(cuMemFree(device));
  free(source);
  free(target);
}

static void entries(void) {
  CUstream streams[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, NULL, NULL};
  MUST(cuStreamCreate(&streams[3], CU_STREAM_DEFAULT));
  MUST(cuStreamCreate(&streams[4], CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < 5; ++i)
    for (int way = 0; way < WAYS; ++way) there_and_back(way, SIZE, 0, streams[i]);
}

/// Around what the driver reads at once, and what is replaced: 64 KiB, 128 KiB and 2 MiB.
static void sizes(void) {
  size_t all[] = {0, 1, 64 * KIB, 64 * KIB + 1, 128 * KIB - 1, 128 * KIB, 128 * KIB + 1,
                  2 * MIB, 2 * MIB + 1, 3 * MIB + 7, 9 * MIB};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
    for (size_t offset = 0; offset < 4; offset += 3) there_and_back(0, all[i], offset, NULL);
}

static void others(void) {
  CUdeviceptr device = device_memory(2 * SIZE);
  CUdeviceptr managed = 0;
  void* pinned = NULL;
  unsigned char* pageable = pattern(SIZE, 1);
  unsigned char* other = malloc(SIZE);
  MUST(cuMemHostAlloc(&pinned, SIZE, 0));
  MUST(cuMemAllocManaged(&managed, SIZE, CU_MEM_ATTACH_GLOBAL));
  MUST(cuMemcpy((CUdeviceptr)other, (CUdeviceptr)pageable, SIZE));
  MUST(cuMemcpy((CUdeviceptr)pinned, (CUdeviceptr)pageable, SIZE));
  MUST(cuMemcpyHtoD(device, pinned, SIZE));
  MUST(cuMemcpyDtoD(device + SIZE, device, SIZE));
  MUST(cuMemcpyDtoH(pinned, device + SIZE, SIZE));
  MUST(cuMemcpy(managed, device, SIZE));
  MUST(cuMemcpy(managed, (CUdeviceptr)pageable, SIZE));
  MUST(cuMemcpyHtoD(managed, pageable, SIZE));
  MUST(cuMemcpyHtoD((CUdeviceptr)pinned, pageable, SIZE));
  CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = pageable, .srcPitch = 1024,
                       .srcHeight = 512, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                       .dstDevice = device, .dstPitch = 1024, .dstHeight = 512,
                       .WidthInBytes = 1024, .Height = 512, .Depth = 1};
  MUST(cuMemcpy3D(&box));
  CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = pinned, .srcPitch = 1024,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = device,
                        .dstPitch = 1024, .WidthInBytes = 1024, .Height = 512};
  MUST(cuMemcpy2DAsync(&rows, NULL));
  CUarray array;
  CUDA_ARRAY_DESCRIPTOR description = {1024, 512, CU_AD_FORMAT_UNSIGNED_INT8, 1};
  MUST(cuArrayCreate(&array, &description));
  box.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  box.dstArray = array;
  MUST(cuMemcpy3D(&box));
  CUdeviceptr targets[] = {device, device + SIZE};
  CUdeviceptr sources[] = {(CUdeviceptr)pinned, (CUdeviceptr)pinned};
  size_t bytes[] = {SIZE, SIZE};
  CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
  size_t first = 0;
  CUstream stream;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  MUST(cuMemcpyBatchAsync(targets, sources, bytes, 2, &attributes, &first, 1, stream));
  MUST(cuStreamSynchronize(stream));
  printf("%lx %lx %lx\n", sum(other, SIZE), sum(pinned, SIZE), sum_on_device(device, 2 * SIZE));
}

static void* copy_in_thread(void* number) {
  MUST(cuCtxSetCurrent(primary));
  enum { BYTES = LONG };
  CUstream stream;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr device = device_memory(BYTES);
  unsigned char* target = malloc(BYTES);
  for (unsigned i = 0; i < 8; ++i) {
    unsigned char* source = pattern(BYTES, i * 16 + (unsigned)(long)number);
    MUST(cuMemcpyHtoDAsync(device, source, BYTES, stream));
    MUST(cuMemcpyDtoHAsync(target, device, BYTES, stream));
    if (memcmp(source, target, BYTES) != 0) printf("WRONG bytes\n");
    free(source);
  }
  return NULL;
}
static void threads(void) {
  pthread_t all[6];
  for (long i = 0; i < 6; ++i) pthread_create(&all[i], NULL, copy_in_thread, (void*)i);
  for (int i = 0; i < 6; ++i) pthread_join(all[i], NULL);
}

static void forked(void) {
  there_and_back(0, SIZE, 0, NULL);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    char host[256 * KIB];
    CUresult result = cuMemcpyHtoD(4096, host, sizeof host);
    _exit(result == CUDA_ERROR_NOT_INITIALIZED ? 3 : 4);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("child %d\n", WEXITSTATUS(status));
  there_and_back(0, SIZE, 0, NULL);
}

/// A thread that copies while it holds the linker's lock, beside one that opens the engine.
static void* load(void* library) {
  MUST(cuCtxSetCurrent(primary));
  if (dlopen(library, RTLD_NOW) == NULL) printf("WRONG: %s\n", dlerror());
  return NULL;
}
static void loading(void* library) {
  pthread_t thread;
  pthread_create(&thread, NULL, load, library);
  CUdeviceptr device = device_memory(SIZE);
  unsigned char* host = pattern(SIZE, 2);
  for (int i = 0; i < 20; ++i) MUST(cuMemcpyHtoD(device, host, SIZE));
  pthread_join(thread, NULL);
}

/// Memory that was pageable, then pinned, then pageable again; and neighbours on a page.
static void changing(void) {
  unsigned char* host = NULL;
  if (posix_memalign((void**)&host, 4096, 3 * LONG) != 0) return;
  memset(host, 5, 3 * LONG);
  CUdeviceptr device = device_memory(3 * LONG);
  for (int i = 0; i < 2; ++i) {
    MUST(cuMemcpyHtoD(device, host, LONG));
    MUST(cuMemHostRegister(host, LONG + 64, 0));
    MUST(cuMemcpyHtoD(device, host, LONG));
    MUST(cuMemcpyHtoD(device, host + LONG + 64, LONG));
    MUST(cuMemHostUnregister(host));
  }
  printf("%lx\n", sum_on_device(device, LONG));
}

int main(int argc, char** argv) {
  begin();
  const char* what = argv[1];
  if (strcmp(what, "entries") == 0) entries();
  if (strcmp(what, "sizes") == 0) sizes();
  if (strcmp(what, "others") == 0) others();
  if (strcmp(what, "threads") == 0) threads();
  if (strcmp(what, "forked") == 0) forked();
  if (strcmp(what, "changing") == 0) changing();
  if (strcmp(what, "loading") == 0) loading(argv[2]);
  if (strcmp(what, "once") == 0) there_and_back(1, SIZE, 0, NULL);
  if (strcmp(what, "once") == 0 && argc > 2) _exit(atoi(argv[2]));
  return 0;
}
