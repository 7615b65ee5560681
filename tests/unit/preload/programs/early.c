// Asks for the driver's functions before the driver is loaded, and then loads it. Not linked with it.
#include "driver.h"

int main(void) {
  void* early = dlsym(RTLD_DEFAULT, "cuMemcpyHtoD_v2");
  const char* error = dlerror();
  printf("%s\n", early == NULL && error != NULL ? "not there" : "WRONG: there already");
  printf("%s\n", dlsym(dlopen(NULL, RTLD_NOW), "cuInit") == NULL ? "not there" : "WRONG");
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  dlerror();
  printf("%s\n", dlsym(driver, "cuMemcpyHtoD_v2") != NULL ? "there" : "WRONG");
  printf("%s\n", dlerror() == NULL ? "no error" : "WRONG: an error of nobody's");
  printf("%s\n", dlsym(driver, "cuMemcpyNothing") == NULL && dlerror() != NULL ? "error" : "WRONG");
  return 0;
}
