// What the emulated driver has beside CUDA's functions: those of emulator.h.
#pragma once

#include <isthmus/driver.hpp>

namespace isthmus {

/// A function of emulator.h by its name; null if the driver is a real one.
void* emulator_function(const Driver& driver, const char* name);

}  // namespace isthmus
