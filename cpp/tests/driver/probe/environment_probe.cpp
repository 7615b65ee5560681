// Prints which environment variables a program trusts. environment_test.cpp runs it with more
// rights than its user has.
#include <cstdio>

#include <sys/auxv.h>

#include "device/kernel_cache.hpp"
#include "driver/locate.hpp"
#include "transfer/profile/profile.hpp"

// A leak check reads the process from outside. The system forbids that of a program with more
// rights than its user. The sanitizer's library finds the function only if it is visible.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

int main() {
  using namespace isthmus;
  std::printf("privileged %s\n", getauxval(AT_SECURE) != 0 ? "yes" : "no");
  std::printf("driver %s\n", locate_driver("").file.c_str());
  std::printf("kernels %s\n", default_kernel_cache_folder().c_str());
  std::printf("profile %s\n", transfer::profile_path({}).c_str());
  return 0;
}
