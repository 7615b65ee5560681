// How fast a PCI device's link could be.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace isthmus::host {

/// A PCI Express link at its best: an idle one trains down.
struct PciLink {
  int generation = 0;  ///< 5 is PCIe 5.0
  int width = 0;       ///< lanes

  bool operator==(const PciLink&) const = default;
};

/// The most that a PCI device and the port above it can do together.
///
/// A port that claims less than PCIe 3.0 is taken for a virtual machine's, which says nothing.
///
/// address     "0000:01:00.0"
/// Returns     nothing if the kernel doesn't say.
/// Throws      UsageError if `address` isn't a PCI address.
std::optional<PciLink> pci_link(std::string_view address, const std::filesystem::path& root = "/");

}  // namespace isthmus::host
