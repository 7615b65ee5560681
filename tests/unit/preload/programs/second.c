// A program with two drivers: it is linked with one, and opens another.
#include "driver.h"

int main(int argc, char** argv) {
  begin();
  CUdeviceptr device = device_memory(4096);
  char host[4096] = {0};
  MUST(cuMemcpyHtoD(device, host, sizeof host));
  void* second = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  CUresult (*up)(CUdeviceptr, const void*, size_t) = dlsym(second, "cuMemcpyHtoD_v2");
  printf("%d %d\n", up != cuMemcpyHtoD, up(device, host, sizeof host));
  return argc > 2;
}
