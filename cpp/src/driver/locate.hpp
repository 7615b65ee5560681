// Converts "system", "emulated:PROFILE" or a path to the file to open.
// What the emulated driver has beside CUDA's functions: those of emulator.h.
#pragma once

#include <string>

#include <isthmus/driver.hpp>

namespace isthmus {

struct DriverLocation {
  std::string file;     ///< the argument for dlopen
  std::string profile;  ///< the emulated driver's profile; empty for any other library
};

/// Resolves a driver source as Driver::open documents it. Opens nothing.
///
/// Throws UsageError for an unknown form.
DriverLocation locate_driver(const std::string& source);

/// The folder of the library or program that contains this code; the emulated driver lies there,
/// too.
std::string own_folder();

/// A function of emulator.h by its name; null if the driver is a real one.
void* emulator_function(const Driver& driver, const char* name);

}  // namespace isthmus
