// Option structs that later versions may extend.
#pragma once

#include <cstddef>
#include <string>

#include <isthmus/isthmus.h>
#include <isthmus/errors.hpp>

namespace isthmus::capi {

/// Checks that a struct has its size set, and that members unknown to this version are zero.
///
/// name        of the struct: "isthmus_copy_options"
/// init        the initialiser that callers start with: "ISTHMUS_COPY_OPTIONS_INIT"
/// Throws      UsageError.
template <typename Options>
void require_known_members(const Options& given, const std::string& name, const std::string& init) {
  // This is the struct's size in the first version that had it: no caller can have a smaller one.
  if (given.struct_size < sizeof(Options))
    throw UsageError(name + ".struct_size is " + std::to_string(given.struct_size) +
                     ": begin with " + init + ", which sets " + std::to_string(sizeof(Options)));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&given);
  for (std::size_t at = sizeof given; at < given.struct_size; ++at) {
    if (bytes[at] != 0)
      throw UsageError(name + " has members set that this version, " +
                       std::string(isthmus_version()) + ", doesn't know");
  }
}

}  // namespace isthmus::capi
