#include "host/system/pci_link.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "host/cpu/topology.hpp"
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

}  // namespace isthmus::host
