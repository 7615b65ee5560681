#include "host/system/pci_bars.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "host/cpu/topology.hpp"
#include "host/system/text_file.hpp"

namespace isthmus::host {
namespace {

constexpr int kNumBars = 6;

/// Removes "0x1f" and the white space after it from the front; nothing if something else is there.
std::optional<std::uint64_t> take_hex(std::string_view& text) {
  if (text.substr(0, 2) != "0x") return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 2, end, number, 16);
  if (error != std::errc{}) return std::nullopt;
  text = trimmed({rest, static_cast<std::size_t>(end - rest)});
  return number;
}

}  // namespace

// One line per register: first address, last address, flags; zeroes if it is unused. Six are base
// address registers, the seventh is the expansion ROM.
std::optional<std::uint64_t> largest_pci_bar_bytes(std::string_view address,
                                                   const std::filesystem::path& root) {
  const std::string all =
      read_text(root / "sys/bus/pci/devices" / sysfs_pci_address(address) / "resource")
          .value_or("");
  std::string_view text = all;
  std::uint64_t largest_bytes = 0;
  for (int bar = 0; bar < kNumBars; ++bar) {
    const auto first = take_hex(text);
    const auto last = take_hex(text);
    const auto flags = take_hex(text);
    if (!first || !last || !flags) break;
    if (*last > *first) largest_bytes = std::max(largest_bytes, *last - *first + 1);
  }
  return largest_bytes != 0 ? std::optional(largest_bytes) : std::nullopt;
}

}  // namespace isthmus::host
