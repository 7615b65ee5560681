#include "host/memory/address_text.hpp"

#include <array>
#include <charconv>

namespace isthmus::host {

std::string address_text(std::uintptr_t address) {
  std::array<char, 2 * sizeof address> digits;
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), address, 16);
  static_cast<void>(error);
  return "0x" + std::string(digits.data(), end);
}

}  // namespace isthmus::host
