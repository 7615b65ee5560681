// From "system", "emulated:PROFILE" or a path to a file to open.
#pragma once

#include <string>

namespace isthmus {

struct DriverLocation {
  std::string file;     ///< what dlopen is given
  std::string profile;  ///< the emulated driver's profile; empty for any other library
};

/// Resolves a driver source as Driver::open documents it. Opens nothing.
///
/// Throws UsageError for a form it doesn't know.
DriverLocation locate_driver(const std::string& source);

/// The folder of the library or program this code is linked into; the emulated driver lies beside
/// it.
std::string own_folder();

}  // namespace isthmus
