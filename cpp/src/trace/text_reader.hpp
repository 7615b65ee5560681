// Splits a line of text into words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace isthmus::trace {

/// The words of a line, separated by white space.
class TextReader {
public:
  explicit TextReader(std::string_view line) : rest_(line) {}

  bool at_end();
  /// The next word. At the end of the line it throws UsageError, which says that `what` is missing.
  std::string_view word(const char* what);
  /// The next word, which must be a number as a whole. Throws UsageError otherwise.
  std::uint64_t decimal(const char* what);
  std::int64_t signed_decimal(const char* what);
  /// Hexadecimal, with or without 0x.
  std::uint64_t hexadecimal(const char* what);
  /// Hexadecimal, with 0x: every tracer writes addresses so. A word that is absent moves others into
  /// its place, which this refuses.
  std::uint64_t address(const char* what);
  /// Skips a word that is hexadecimal with 0x, or a whole number with or without a sign.
  void address_or_difference(const char* what);

private:
  std::string_view rest_;
};

/// A part of a file's text that is safe to print in a message: the text may be binary, or long.
std::string shown(std::string_view text, std::size_t most = 40);

/// A whole text as a number in base 10. Throws UsageError, which names `what`, for any other text.
std::uint64_t whole_decimal(std::string_view text, const char* what);
/// The same in base 16, with or without 0x.
std::uint64_t whole_hexadecimal(std::string_view text, const char* what);
/// Throws      UsageError, which names `what`, for a text that isn't a whole number in base 10 of at
///             most 64 bits, with or without a sign.
void require_integer(std::string_view text, const char* what);

}  // namespace isthmus::trace
