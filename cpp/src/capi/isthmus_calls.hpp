// What calls of isthmus.h share: options that later versions may extend, text into a caller's
// buffer, and exceptions as isthmus_error.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include <isthmus/isthmus.h>
#include <isthmus/errors.hpp>

namespace isthmus::capi {

/// Copies as much of `text` as fits, ends it with a null, and cuts no UTF-8 character in two.
///
/// capacity_bytes  > 0
inline void copy_text(std::string_view text, char* target, std::size_t capacity_bytes) noexcept {
  std::size_t length = text.size();
  if (length >= capacity_bytes) {
    length = capacity_bytes - 1;
    const auto is_inside_character = [](char byte) {
      return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
    };
    while (length > 0 && is_inside_character(text[length])) --length;
  }
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

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

/// Fills `error`, unless it is null, from the exception that is being handled.
///
/// Returns     its status, never ISTHMUS_OK.
isthmus_status report_exception(isthmus_error* error) noexcept;

/// Runs `body`. If it throws, returns the status of the exception instead of throwing.
template <typename Body>
isthmus_status guarded(isthmus_error* error, Body&& body) noexcept {
  try {
    body();
    return ISTHMUS_OK;
  } catch (...) {
    return report_exception(error);
  }
}

}  // namespace isthmus::capi
