// Another preloaded library that stands between programs and the driver: its way on is RTLD_NEXT.
#include "driver.h"

static int calls;

CUresult cuMemcpyHtoD_v2(CUdeviceptr target, const void* source, size_t bytes) {
  CUresult (*next)(CUdeviceptr, const void*, size_t) = dlsym(RTLD_NEXT, "cuMemcpyHtoD_v2");
  __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
  return next(target, source, bytes);
}

__attribute__((destructor)) static void tell(void) { printf("hook: %d calls\n", calls); }
