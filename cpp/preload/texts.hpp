// Texts of fixed length, cut where they don't fit.
#pragma once

#include <stddef.h>
#include <string.h>

namespace isthmus::preload {

/// A path without its folders.
inline const char* file_name(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

/// Appends, and ends with a null.
template <size_t Size>
void append_text(char (&target)[Size], const char* text) {
  const size_t used = strnlen(target, Size - 1);
  const size_t more = strnlen(text, Size - 1 - used);
  memcpy(target + used, text, more);
  target[used + more] = '\0';
}
template <size_t Size>
void copy_text(char (&target)[Size], const char* text) {
  target[0] = '\0';
  append_text(target, text);
}
template <size_t Size>
void append_number(char (&target)[Size], unsigned long number, unsigned base = 10) {
  char digits[24];
  char* next = digits + sizeof digits - 1;
  *next = '\0';
  do *--next = "0123456789abcdef"[number % base];
  while ((number /= base) != 0);
  append_text(target, next);
}

}  // namespace isthmus::preload
