// Text into a caller's buffer of fixed size.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

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

}  // namespace isthmus::capi
