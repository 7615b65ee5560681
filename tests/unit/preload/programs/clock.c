// A process that is interrupted for milliseconds whenever it has read the kernel's clock.
#include <sys/syscall.h>
#include <time.h>

#include "driver.h"

enum { NS_PER_MS = 1000000 };

static long real_ns(void) {
  struct timespec time;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000L * NS_PER_MS + time.tv_nsec;
}

static int is_interrupted;

/// What the library calls.
int clock_gettime(clockid_t clock, struct timespec* time) {
  const int result = (int)syscall(SYS_clock_gettime, clock, time);
  for (long end = real_ns() + 5 * NS_PER_MS; is_interrupted && real_ns() < end;) continue;
  return result;
}

int main(void) {
  begin();
  CUdeviceptr device = device_memory(4096);
  char host[4096];
  const long start = real_ns();
  is_interrupted = 1;
  for (int copied = 0; copied < 20; ++copied) MUST(cuMemcpyHtoD(device, host, sizeof host));
  is_interrupted = 0;
  while (real_ns() < start + 200 * NS_PER_MS) MUST(cuMemcpyHtoD(device, host, sizeof host));
  printf("%ld\n", real_ns() - start);
  return 0;
}
