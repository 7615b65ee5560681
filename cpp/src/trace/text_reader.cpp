#include "trace/text_reader.hpp"

#include <isthmus/errors.hpp>

#include <charconv>
#include <string>
#include <system_error>

namespace isthmus::trace {
namespace {

bool is_space(char letter) { return letter == ' ' || letter == '\t' || letter == '\r'; }

template <typename Number>
Number whole_number(std::string_view text, int base, const char* what) {
  Number number = 0;
  const auto [stopped, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc{} || stopped != text.data() + text.size()) {
    throw UsageError(std::string(what) + " is '" + shown(text) + "', not a number");
  }
  return number;
}

}  // namespace

std::string shown(std::string_view text, std::size_t most) {
  std::string result;
  for (const char letter : text.substr(0, most)) {
    result += letter >= ' ' && letter <= '~' ? letter : '?';
  }
  return text.size() > most ? result + "..." : result;
}

std::uint64_t whole_decimal(std::string_view text, const char* what) {
  return whole_number<std::uint64_t>(text, 10, what);
}

std::uint64_t whole_hexadecimal(std::string_view text, const char* what) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  return whole_number<std::uint64_t>(text, 16, what);
}

void require_integer(std::string_view text, const char* what) {
  if (text.starts_with('-')) {
    whole_number<std::int64_t>(text, 10, what);
  } else {
    whole_number<std::uint64_t>(text, 10, what);
  }
}

bool TextReader::at_end() {
  while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
  return rest_.empty();
}

std::string_view TextReader::word(const char* what) {
  if (at_end()) throw UsageError(std::string("the line ends where ") + what + " should be");
  std::size_t length = 0;
  while (length < rest_.size() && !is_space(rest_[length])) ++length;
  const std::string_view word = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return word;
}

std::uint64_t TextReader::decimal(const char* what) { return whole_decimal(word(what), what); }

std::int64_t TextReader::signed_decimal(const char* what) {
  return whole_number<std::int64_t>(word(what), 10, what);
}

std::uint64_t TextReader::hexadecimal(const char* what) {
  return whole_hexadecimal(word(what), what);
}

std::uint64_t TextReader::address(const char* what) {
  const std::string_view text = word(what);
  if (!text.starts_with("0x")) {
    throw UsageError(std::string(what) + " is '" + shown(text) + "', without 0x");
  }
  return whole_hexadecimal(text, what);
}

void TextReader::address_or_difference(const char* what) {
  const std::string_view text = word(what);
  if (text.starts_with("0x")) {
    whole_hexadecimal(text, what);
  } else {
    require_integer(text, what);
  }
}

}  // namespace isthmus::trace
