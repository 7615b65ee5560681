// Copies beside captures: what the driver says of the copy and of the capture.
#include "driver.h"

enum { BYTES = LONG };

static CUdeviceptr device;
static unsigned char* host;
static CUstream captured;

static void tell(const char* what, CUresult result) { printf("%s: %d\n", what, (int)result); }

static void start(CUstreamCaptureMode mode, unsigned flags) {
  MUST(cuStreamCreate(&captured, flags));
  MUST(cuStreamBeginCapture(captured, mode));
}

static void end(void) {
  CUgraph graph = NULL;
  CUresult result = cuStreamEndCapture(captured, &graph);
  tell("end", result);
  if (graph != NULL) MUST(cuGraphDestroy(graph));
}

static void copy_now(CUstream stream) {
  tell("up", cuMemcpyHtoDAsync(device, host, BYTES, stream));
  tell("down", cuMemcpyDtoHAsync(host, device, BYTES, stream));
}

static void beside(CUstreamCaptureMode mode, unsigned flags, CUstream stream) {
  start(mode, flags);
  copy_now(stream);
  tell("down", cuMemcpyDtoH(host, device, BYTES));
  end();
  MUST(cuStreamDestroy(captured));
  copy_now(stream);
}

static void inside(void) {
  start(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING);
  copy_now(captured);
  end();
  copy_now(captured);
}

/// Of the thread's own stream, which has no handle of its own.
static void own(void) {
  MUST(cuStreamBeginCapture(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_GLOBAL));
  captured = CU_STREAM_PER_THREAD;
  copy_now(captured);
  end();
  copy_now(captured);
}

/// A call that a capture forbids ends it.
static void invalidated(void) {
  start(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING);
  tell("query", cuStreamQuery(captured));
  copy_now(NULL);
  end();
  copy_now(NULL);
}

static void destroyed(void) {
  start(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING);
  MUST(cuStreamDestroy(captured));
  copy_now(NULL);
}

/// Another thread begins a capture when this one is about to wait.
static void* capture_in_thread(void* unused) {
  (void)unused;
  MUST(cuCtxSetCurrent(primary));
  start(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING);
  return NULL;
}
static void begin_in_thread(void* unused) {
  pthread_t thread;
  pthread_create(&thread, NULL, capture_in_thread, unused);
  pthread_join(thread, NULL);
}
static void at_the_wait(const char* call) {
  CUstream stream = NULL;
  if (strcmp(call, "cuStreamSynchronize") == 0)
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  isthmus_emulator_before_call(call, 1, begin_in_thread, NULL);
  tell("down", cuMemcpyDtoHAsync(host, device, BYTES, stream));
  if (captured == NULL) begin_in_thread(NULL);  // without exec nothing waits
  CUstreamCaptureStatus status;
  MUST(cuStreamIsCapturing(captured, &status));
  printf("status %d\n", (int)status);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  MUST(cuThreadExchangeStreamCaptureMode(&mode));
  printf("mode %d\n", (int)mode);
}

int main(int argc, char** argv) {
  begin();
  device = device_memory(BYTES);
  host = pattern(BYTES, 1);
  const char* what = argv[1];
  if (strcmp(what, "global") == 0)
    beside(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING, NULL);
  if (strcmp(what, "local") == 0)
    beside(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_NON_BLOCKING, CU_STREAM_PER_THREAD);
  if (strcmp(what, "relaxed") == 0)
    beside(CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_NON_BLOCKING, NULL);
  if (strcmp(what, "blocking") == 0) beside(CU_STREAM_CAPTURE_MODE_GLOBAL, 0, NULL);
  if (strcmp(what, "inside") == 0) inside();
  if (strcmp(what, "own") == 0) own();
  if (strcmp(what, "invalidated") == 0) invalidated();
  if (strcmp(what, "destroyed") == 0) destroyed();
  if (strcmp(what, "wait") == 0) at_the_wait(argv[2]);
  return argc > 3;
}
