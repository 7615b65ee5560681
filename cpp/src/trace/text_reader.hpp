// Takes a line of text apart, word by word.
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
  /// The next word; none at the end: UsageError that `what` is missing.
  std::string_view word(const char* what);
  /// The next word as a number in its whole length; UsageError for another word.
  std::uint64_t decimal(const char* what);
  std::int64_t signed_decimal(const char* what);
  /// Hexadecimal, with or without 0x.
  std::uint64_t hexadecimal(const char* what);

private:
  std::string_view rest_;
};

/// What a message may repeat of a file's text: that may be binary, or long.
std::string shown(std::string_view text, std::size_t most = 40);

/// A whole text as a number in base 10; UsageError, which names `what`, for another text.
std::uint64_t whole_decimal(std::string_view text, const char* what);
/// In base 16, with or without 0x.
std::uint64_t whole_hexadecimal(std::string_view text, const char* what);

}  // namespace isthmus::trace
