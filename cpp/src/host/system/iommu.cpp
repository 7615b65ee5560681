#include "host/system/iommu.hpp"

#include "host/cpu/topology.hpp"
#include "host/system/folder.hpp"
#include "host/system/printable.hpp"
#include "host/system/text_file.hpp"

namespace isthmus::host {

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
