// The highest speed of a PCI device's link.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace isthmus::host {

/// A PCI Express link at full speed: an idle link may run slower.
struct PciLink {
  int generation = 0;  ///< 5 is PCIe 5.0
  int width = 0;       ///< lanes

  bool operator==(const PciLink&) const = default;
};

/// The best link that a PCI device and the port above it support together.
///
/// A port that claims less than PCIe 3.0 is assumed to be a virtual machine's and is ignored.
///
/// address     "0000:01:00.0"
/// Returns     nothing if the kernel doesn't say.
/// Throws      UsageError if `address` isn't a PCI address.
std::optional<PciLink> pci_link(std::string_view address, const std::filesystem::path& root = "/");

}  // namespace isthmus::host
