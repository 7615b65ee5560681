#include "host/system/pci.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "host/cpu/topology.hpp"
#include "host/system/printable.hpp"
#include "host/system/text_file.hpp"

namespace isthmus::host {
namespace {

constexpr int kMaxLanes = 32;
constexpr int kMinPortGeneration = 3;

/// By generation, without fractions: 2.5, 5, 8, 16, 32 and 64 GT/s.
/// Source: PCI Express Base Specification 6.0, 4.2.1.
constexpr int kSpeeds[] = {2, 5, 8, 16, 32, 64};

/// The generation of "32.0 GT/s PCIe"; 0 for "Unknown".
int generation_of(std::string_view speed) {
  int gigatransfers = 0;
  std::from_chars(speed.data(), speed.data() + speed.size(), gigatransfers);
  const auto* const found = std::ranges::find(kSpeeds, gigatransfers);
  return found == std::end(kSpeeds) ? 0 : static_cast<int>(found - std::begin(kSpeeds)) + 1;
}

std::optional<PciLink> link_of(const std::filesystem::path& device) {
  const int generation = generation_of(read_text(device / "max_link_speed").value_or(""));
  const auto width = read_integer(device / "max_link_width");
  // An unknown width is all ones: 63 or 255.
  if (generation == 0 || !width || *width < 1 || *width > kMaxLanes) return std::nullopt;
  return PciLink{generation, static_cast<int>(*width)};
}

}  // namespace

std::optional<PciLink> pci_link(std::string_view address, const std::filesystem::path& root) {
  const auto device = root / "sys/bus/pci/devices" / sysfs_pci_address(address);
  auto link = link_of(device);
  if (!link) return link;
  // The entry is a link into the tree of buses; there the port is the parent folder.
  std::error_code absent;
  const auto place = std::filesystem::canonical(device, absent);
  const auto port = absent ? std::nullopt : link_of(place.parent_path());
  if (port && port->generation >= kMinPortGeneration) {
    link->generation = std::min(link->generation, port->generation);
    link->width = std::min(link->width, port->width);
  }
  return link;
}

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

namespace fs = std::filesystem;

std::size_t num_iommu_groups(const fs::path& root) {
  std::size_t num_groups = 0;
  for (const std::string& name : names_in(root / "sys/kernel/iommu_groups"))
    if (parse_integer(name)) ++num_groups;
  return num_groups;
}

std::optional<IommuGroup> iommu_group(std::string_view address, const fs::path& root) {
  const fs::path link = root / "sys/bus/pci/devices" / sysfs_pci_address(address) / "iommu_group";
  std::error_code absent;
  const fs::path target = fs::read_symlink(link, absent);
  if (absent) return std::nullopt;
  const auto id = parse_integer(target.filename().string());
  if (!id) return std::nullopt;
  return IommuGroup{static_cast<int>(*id), printable(read_text(link / "type").value_or(""))};
}

}  // namespace isthmus::host
