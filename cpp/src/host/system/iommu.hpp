// Whether an IOMMU lies between devices and memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace isthmus::host {

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
