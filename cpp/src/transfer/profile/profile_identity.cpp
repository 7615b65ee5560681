#include "transfer/profile/profile_identity.hpp"

#include <algorithm>

#include "host/system/machine_names.hpp"
#include "host/system/pci_link.hpp"

namespace isthmus::transfer {
namespace {

LinkClass link_of(const DeviceFacts& device, bool emulated, const std::filesystem::path& root) {
  if (emulated) return {LinkClass::Kind::emulated, 0, 0};
  if (device.uses_host_page_tables) return {LinkClass::Kind::nvlink_c2c, 0, 0};
  LinkClass link;
  if (const auto found = host::pci_link(device.pci_address, root)) {
    link.generation = found->generation;
    link.width = found->width;
  }
  return link;
}

}  // namespace

std::string LinkClass::name() const {
  if (kind == Kind::nvlink_c2c) return "NVLink-C2C";
  if (kind == Kind::emulated) return "emulated link";
  return "PCIe Gen" + std::to_string(generation) + " x" + std::to_string(width);
}

ProfileIdentity identity_of(const DeviceFacts& device, double num_cores, bool emulated,
                            const std::filesystem::path& root) {
  ProfileIdentity identity;
  identity.emulated = emulated;
  identity.gpu_uuid = device.uuid;
  identity.gpu_name = device.name;
  identity.link = link_of(device, emulated, root);
  identity.cuda_version = device.cuda_version;
  if (!emulated) identity.driver_release = host::nvidia_module_release(root);
  identity.cpu_model = host::cpu_model(root);
  identity.num_cores = num_cores;
  return identity;
}

std::string profile_file_name(const ProfileIdentity& identity) {
  std::string link = identity.link.name();
  std::ranges::replace(link, ' ', '-');
  return identity.gpu_uuid + "-" + link + ".json";
}

}  // namespace isthmus::transfer
