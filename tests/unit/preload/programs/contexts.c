// Copies in contexts of every kind, and on two GPUs.
#include "driver.h"

enum { BYTES = LONG };

static unsigned char* host;

static void copy(const char* where, CUdeviceptr device) {
  CUresult up = cuMemcpyHtoD(device, host, BYTES);
  CUresult down = cuMemcpyDtoH(host, device, BYTES);
  printf("%s: %d %d\n", where, (int)up, (int)down);
}

static void state(void) {
  unsigned flags;
  int active;
  MUST(cuDevicePrimaryCtxGetState(0, &flags, &active));
  printf("primary is %s\n", active ? "active" : "not active");
}

static void copy_in_new_context(void) {
  CUcontext created;
  MUST(cuCtxCreate(&created, NULL, 0, 0));
  copy("created", device_memory(BYTES));
  MUST(cuCtxDestroy(created));
}

static void created(void) {
  MUST(cuInit(0));
  for (int i = 0; i < 3; ++i) copy_in_new_context();
  state();
  begin();
  CUdeviceptr device = device_memory(BYTES);
  copy("primary", device);
  copy_in_new_context();
  MUST(cuCtxSetCurrent(primary));
  copy("primary", device);
}

/// The primary context's memory is known in others, too; the current one decides.
static void foreign(void) {
  begin();
  CUdeviceptr device = device_memory(BYTES);
  CUcontext context;
  MUST(cuCtxCreate(&context, NULL, 0, 0));
  copy("foreign", device);
  MUST(cuCtxDestroy(context));
}

static void reset(void) {
  begin();
  copy("before", device_memory(BYTES));
  MUST(cuDevicePrimaryCtxReset(0));
  state();
  begin();
  copy("after", device_memory(BYTES));
  MUST(cuDevicePrimaryCtxRelease(0));
  state();
}

static void retained_again(void) {
  begin();
  MUST(cuDevicePrimaryCtxRelease(0));
  state();
  begin();
  copy("again", device_memory(BYTES));
}

static void two(void) {
  begin();
  CUcontext second;
  MUST(cuDevicePrimaryCtxRetain(&second, 1));
  CUdeviceptr here = device_memory(BYTES);
  copy("first", here);
  MUST(cuCtxSetCurrent(second));
  CUdeviceptr there = device_memory(BYTES);
  copy("second", there);
  copy("first from second", here);
  MUST(cuMemcpyPeerAsync(there, second, here, primary, BYTES, NULL));
  MUST(cuCtxSetCurrent(primary));
  copy("second from first", there);
  copy("first", here);
}

int main(int argc, char** argv) {
  host = pattern(BYTES, 1);
  const char* what = argv[1];
  if (strcmp(what, "created") == 0) created();
  if (strcmp(what, "foreign") == 0) foreign();
  if (strcmp(what, "reset") == 0) reset();
  if (strcmp(what, "retained_again") == 0) retained_again();
  if (strcmp(what, "two") == 0) two();
  printf("%lx\n", sum(host, BYTES));
  return argc > 2;
}
