#include "host/system/printable.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace isthmus::host {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD
constexpr unsigned char kDelete = 0x7f;

/// UTF-8 sequences whose first byte is in a range, and the range of their second byte. All later
/// bytes are 0x80 to 0xbf.
struct Sequences {
  unsigned char first_least;
  unsigned char first_most;
  unsigned char second_least;
  unsigned char second_most;
  std::size_t num_bytes;
};

/// Source: The Unicode Standard 15.0, table 3-7, well-formed UTF-8 byte sequences.
constexpr auto kWellFormed = std::to_array<Sequences>({
    {0xc2, 0xdf, 0x80, 0xbf, 2},
    {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3},
    {0xed, 0xed, 0x80, 0x9f, 3},
    {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4},
    {0xf1, 0xf3, 0x80, 0xbf, 4},
    {0xf4, 0xf4, 0x80, 0x8f, 4},
});

unsigned char byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

/// The length of the non-ASCII character at the start of `text`; 0 if there is none.
std::size_t character_bytes(std::string_view text) {
  for (const Sequences& one : kWellFormed) {
    if (byte_at(text, 0) < one.first_least || byte_at(text, 0) > one.first_most) continue;
    if (text.size() < one.num_bytes || byte_at(text, 1) < one.second_least ||
        byte_at(text, 1) > one.second_most)
      return 0;
    const bool continued = std::ranges::all_of(
        text.substr(2, one.num_bytes - 2), [](unsigned char c) { return c >= 0x80 && c <= 0xbf; });
    return continued ? one.num_bytes : 0;
  }
  return 0;
}

bool is_ascii(unsigned char byte) { return byte <= kDelete; }

bool is_control(std::string_view character) {
  if (is_ascii(byte_at(character, 0)))
    return byte_at(character, 0) < ' ' || byte_at(character, 0) == kDelete;
  // U+0080 to U+009F: terminals may treat them as escape sequences, too.
  return byte_at(character, 0) == 0xc2 && byte_at(character, 1) < 0xa0;
}

}  // namespace

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string result;
  while (!text.empty()) {
    const std::size_t num_bytes = is_ascii(byte_at(text, 0)) ? 1 : character_bytes(text);
    std::string_view shown = num_bytes == 0 ? kReplacement : text.substr(0, num_bytes);
    if (num_bytes != 0 && is_control(shown)) shown = "?";
    if (shown.size() > max_bytes - result.size()) return result + "...";
    result += shown;
    text.remove_prefix(std::max<std::size_t>(num_bytes, 1));
  }
  return result;
}

std::string address_text(std::uintptr_t address) {
  std::array<char, 2 * sizeof address> digits;
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), address, 16);
  static_cast<void>(error);
  return "0x" + std::string(digits.data(), end);
}

}  // namespace isthmus::host
