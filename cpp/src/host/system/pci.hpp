// The highest speed of a PCI device's link.
// The sizes of a PCI device's BARs.
// Whether an IOMMU lies between devices and memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
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

/// Bytes of the largest BAR of a PCI device, whichever of the six registers it is. For a GPU that
/// is BAR1, through which the CPU reaches its memory.
///
/// address     "0000:01:00.0"
/// Returns     nothing if the kernel doesn't say.
/// Throws      UsageError if `address` isn't a PCI address.
std::optional<std::uint64_t> largest_pci_bar_bytes(std::string_view address,
                                                   const std::filesystem::path& root = "/");

struct IommuGroup {
  int id = 0;
  std::string type;  ///< "identity": passed through; "DMA", "DMA-FQ": translated; "" if hidden
};

/// Number of IOMMU groups; 0 when there is no IOMMU, it is off, or the machine hides it.
std::size_t num_iommu_groups(const std::filesystem::path& root = "/");

/// The group a PCI device is in, if any.
///
/// Throws      UsageError if `address` isn't a PCI address.
std::optional<IommuGroup> iommu_group(std::string_view address,
                                      const std::filesystem::path& root = "/");

}  // namespace isthmus::host
