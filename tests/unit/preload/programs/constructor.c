// A library whose constructor copies: its thread holds the dynamic linker's lock meanwhile.
#include "driver.h"

__attribute__((constructor)) static void copy_at_load(void) {
  enum { BYTES = LONG };
  CUdeviceptr device = device_memory(BYTES);
  unsigned char* host = pattern(BYTES, 1);
  for (int i = 0; i < 50; ++i) MUST(cuMemcpyHtoD(device, host, BYTES));
  printf("%lx\n", sum_on_device(device, BYTES));
}
