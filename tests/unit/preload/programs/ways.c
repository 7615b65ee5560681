// Reaches the driver in every way that a program can, and copies a different number of times in each.
#include "driver.h"

#undef cuGetProcAddress

typedef CUresult (*Up)(CUdeviceptr, const void*, size_t);
typedef CUresult (*UpAsync)(CUdeviceptr, const void*, size_t, CUstream);
typedef CUresult (*First)(const char*, void**, int, cuuint64_t);
typedef CUresult (*Second)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

static CUdeviceptr device;
static char host[64 * KIB];

static void check(int is_so, const char* what) {
  if (!is_so) printf("WRONG: %s\n", what);
}

static void copy(void* function, int times) {
  for (int i = 0; i < times; ++i) MUST(((Up)function)(device, host, 4096));
}

static void linked(void) {
  for (int i = 0; i < 3; ++i) MUST(cuMemcpyHtoD(device, host, 4096));
}

static void by_name(void) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  copy(dlsym(library, "cuMemcpyHtoD_v2"), 4);
  check(dlsym(library, "cuMemcpyHtoD_v2") == (void*)&cuMemcpyHtoD, "there is one address");
  dlerror();
  check(dlsym(library, "cuNoSuchThing") == NULL, "what isn't there isn't");
  const char* error = dlerror();
  check(error != NULL && strstr(error, "cuNoSuchThing") != NULL, "and dlerror() says so");
  check(dlsym(RTLD_NEXT, "puts") != NULL, "the next of another name is found");
}

static void by_resolver(void) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  First first = (First)dlsym(library, "cuGetProcAddress");
  Second second = (Second)dlsym(library, "cuGetProcAddress_v2");
  void* found = NULL;
  MUST(first("cuMemcpyHtoD", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT));
  copy(found, 5);
  CUdriverProcAddressQueryResult status = 77;
  MUST(second("cuMemcpyHtoD", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  check(status == CU_GET_PROC_ADDRESS_SUCCESS, "the status is filled in");
  copy(found, 6);
  void* own = NULL;
  MUST(second("cuMemcpyHtoD", &own, 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
  check(own != found, "the variant of the thread's stream is another function");
  copy(own, 7);
  void* old = &old;
  MUST(second("cuMemcpyHtoD", &old, 3000, 0, &status));
  check(old == NULL && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, "too old is refused");
  void* resolver = NULL;
  MUST(second("cuGetProcAddress", &resolver, 12000, 0, &status));
  MUST(((Second)resolver)("cuMemcpyHtoDAsync", &found, 12000, 0, &status));
  for (int i = 0; i < 8; ++i) MUST(((UpAsync)found)(device, host, 4096, NULL));
  check(second("cuMemcpyFuture", &found, 13000, 0, &status) == CUDA_SUCCESS && found == NULL,
        "what the driver doesn't have is as the driver says");
}

static void by_default_handle(void) {
  copy(dlsym(RTLD_DEFAULT, "cuMemcpyHtoD_v2"), 9);
  copy(dlsym(dlopen(NULL, RTLD_NOW), "cuMemcpyHtoD_v2"), 10);
}

static void deep(const char* library) {
  void* bound_deeply = dlopen(library, RTLD_NOW | RTLD_DEEPBIND);
  if (bound_deeply == NULL) printf("%s\n", dlerror());
  void (*copy_there)(CUdeviceptr) = (void (*)(CUdeviceptr))dlsym(bound_deeply, "copy_there");
  copy_there(device);
}

int main(int argc, char** argv) {
  begin();
  device = device_memory(64 * KIB);
  const char* way = argv[1];
  if (strcmp(way, "linked") == 0) linked();
  if (strcmp(way, "by_name") == 0) by_name();
  if (strcmp(way, "by_resolver") == 0) by_resolver();
  if (strcmp(way, "by_default_handle") == 0) by_default_handle();
  if (strcmp(way, "deep") == 0) deep(argv[2]);
  printf("done\n");
  return 0;
}
