// Converts "system", "emulated:PROFILE" or a path to the file to open.
#pragma once

#include <string>

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

}  // namespace isthmus
