// Waits after copies, and after other waits.
#include "driver.h"

int main(void) {
  begin();
  CUdeviceptr device = device_memory(MIB);
  CUstream stream = NULL, other = NULL;
  void* pinned = NULL;
  MUST(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  MUST(cuStreamCreate(&other, CU_STREAM_DEFAULT));
  MUST(cuMemHostAlloc(&pinned, MIB, 0));
  MUST(cuMemcpyHtoDAsync(device, pinned, MIB, stream));
  MUST(cuStreamSynchronize(stream));  // a copy-wait
  MUST(cuStreamSynchronize(stream));  // follows a wait
  MUST(cuMemcpyHtoDAsync(device, pinned, MIB, stream));
  MUST(cuCtxSynchronize());  // a copy-wait
  MUST(cuMemcpyHtoDAsync(device, pinned, MIB, stream));
  MUST(cuStreamSynchronize(other));  // another stream's
  MUST(cuMemcpyHtoD(device, pinned, MIB));
  MUST(cuCtxSynchronize());  // the copy has waited already
  return 0;
}
