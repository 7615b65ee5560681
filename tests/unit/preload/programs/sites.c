// Many blocking copies at one place, and then one that is hidden synchronisation.
#include "driver.h"

enum { COPIES = 1000, BYTES = 16 * KIB };

int main(void) {
  begin();
  CUdeviceptr device = device_memory(BYTES);
  CUstream stream = NULL;
  void* host = malloc(BYTES);
  MUST(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  for (int i = 0; i < COPIES; ++i) MUST(cuMemcpyDtoH(host, device, BYTES));
  MUST(cuMemcpyDtoHAsync(host, device, BYTES, stream));
  return 0;
}
