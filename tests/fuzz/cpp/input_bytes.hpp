// An input taken apart: numbers from its front, zeros when it is used up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace isthmus::fuzz {

class InputBytes {
public:
  InputBytes(const std::uint8_t* data, std::size_t size_bytes) : rest_(data, size_bytes) {}

  bool empty() const { return rest_.empty(); }

  template <typename Number>
  Number take() {
    Number number{};
    const std::size_t num_bytes = std::min(sizeof number, rest_.size());
    std::memcpy(&number, rest_.data(), num_bytes);
    rest_ = rest_.subspan(num_bytes);
    return number;
  }
  std::uint8_t byte() { return take<std::uint8_t>(); }
  /// From 0 to limit - 1.
  std::size_t below(std::size_t limit) { return take<std::uint16_t>() % limit; }

  /// All that is left.
  std::string_view text() const {
    return {reinterpret_cast<const char*>(rest_.data()), rest_.size()};
  }

private:
  std::span<const std::uint8_t> rest_;
};

}  // namespace isthmus::fuzz
