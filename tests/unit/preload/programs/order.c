// What a copy comes after, and what it doesn't wait for. Nothing here measures time: a call that waits
// is seen by what others do meanwhile.
#include <stdatomic.h>

#include "driver.h"

enum { BYTES = LONG };

static CUdeviceptr device;
static CUdeviceptr other;
static unsigned char* host;
static atomic_int has_returned;
static atomic_int is_calling;

static CUstream stream_of(const char* kind) {
  CUstream stream = NULL;
  if (strcmp(kind, "legacy") == 0) return CU_STREAM_LEGACY;
  if (strcmp(kind, "null") == 0) return NULL;
  if (strcmp(kind, "per_thread") == 0) return CU_STREAM_PER_THREAD;
  MUST(cuStreamCreate(&stream,
                      strcmp(kind, "blocking") == 0 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
  return stream;
}

/// Copies in a stream that makes nobody else wait, in this thread.
static void copy_elsewhere(void) {
  CUstream stream;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  unsigned char* source = pattern(BYTES, 3);
  unsigned char* target = malloc(BYTES);
  for (int i = 0; i < 3; ++i) {
    MUST(cuMemcpyHtoDAsync(other, source, BYTES, stream));
    MUST(cuMemcpyDtoHAsync(target, other, BYTES, stream));
  }
  printf("elsewhere %d\n", memcmp(source, target, BYTES));
  free(source);
  free(target);
}

static void* download(void* stream) {
  MUST(cuCtxSetCurrent(primary));
  is_calling = 1;
  MUST(cuMemcpyDtoHAsync(host, device, BYTES, stream));
  has_returned = 1;
  return NULL;
}
static void* upload(void* stream) {
  MUST(cuCtxSetCurrent(primary));
  is_calling = 1;
  MUST(cuMemcpyHtoDAsync(device, host, BYTES, stream));
  has_returned = 1;
  return NULL;
}

/// A copy in `stream` while `held` is: it comes after that one's work, and nobody else waits.
static void behind(const char* held, const char* stream, void* (*copy)(void*)) {
  CUstream first = stream_of(held);
  CUstream second = strcmp(held, stream) == 0 ? first : stream_of(stream);
  Gate gate = hold(first);
  MUST(cuMemsetD8Async(device, 7, BYTES, first));
  pthread_t thread;
  pthread_create(&thread, NULL, copy, second);
  while (!is_calling) sched_yield();
  copy_elsewhere();
  printf("returned %d\n", (int)has_returned);
  let_go(gate);
  pthread_join(thread, NULL);
  MUST(cuCtxSynchronize());
  printf("after %s in %s: %d, %lx\n", held, stream, host[BYTES - 1], sum_on_device(device, BYTES));
}

/// A copy in `stream` while `held` is, which it doesn't come after.
static void beside(const char* held, const char* stream) {
  CUstream first = stream_of(held);
  CUstream second = stream_of(stream);
  Gate gate = hold(first);
  download(second);
  printf("beside %s in %s: %d\n", held, stream, host[BYTES - 1]);
  let_go(gate);
}

/// The stream of one thread is held, and another thread copies in its own.
static void* hold_own(void* gate) {
  MUST(cuCtxSetCurrent(primary));
  *(Gate*)gate = hold(CU_STREAM_PER_THREAD);
  return NULL;
}
static void threads_own(void) {
  Gate gate;
  pthread_t thread;
  pthread_create(&thread, NULL, hold_own, &gate);
  pthread_join(thread, NULL);
  download(CU_STREAM_PER_THREAD);
  printf("own: %d\n", host[0]);
  let_go(gate);
}

/// An upload of no more than 2 MiB is read at once, whatever its stream does.
static void few_bytes(size_t bytes) {
  CUstream stream = stream_of("free");
  Gate gate = hold(stream);
  unsigned char* source = pattern(bytes, 4);
  unsigned long sent = sum(source, bytes);
  MUST(cuMemcpyHtoDAsync(device, source, bytes, stream));
  memset(source, 0, bytes);
  let_go(gate);
  MUST(cuStreamSynchronize(stream));
  printf("few: %d\n", sent == sum_on_device(device, bytes));
}

int main(int argc, char** argv) {
  begin();
  device = device_memory(BYTES);
  other = device_memory(BYTES);
  host = pattern(BYTES, 1);
  MUST(cuMemsetD8(device, 1, BYTES));
  MUST(cuMemsetD8(other, 1, BYTES));
  MUST(cuCtxSynchronize());
  if (getenv("WARM") != NULL) copy_elsewhere();
  if (strcmp(argv[1], "down") == 0) behind(argv[2], argv[3], download);
  if (strcmp(argv[1], "up") == 0) behind(argv[2], argv[3], upload);
  if (strcmp(argv[1], "beside") == 0) beside(argv[2], argv[3]);
  if (strcmp(argv[1], "own") == 0) threads_own();
  if (strcmp(argv[1], "few") == 0) few_bytes(strtoul(argv[2], NULL, 10));
  return argc > 4;
}
