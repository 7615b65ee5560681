#include "driver/emulated.hpp"

#include <dlfcn.h>

namespace isthmus {

// The library is open already, and stays open: see Driver::open.
void* emulator_function(const Driver& driver, const char* name) {
  if (!driver.emulated()) return nullptr;
  void* const library = dlopen(driver.path().c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* const function = dlsym(library, name);
  dlclose(library);
  return function;
}

}  // namespace isthmus
