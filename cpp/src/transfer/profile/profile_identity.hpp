// What a profile belongs to: the figures of another GPU, link or driver say nothing here.
#pragma once

#include <filesystem>
#include <string>

#include "device/device_facts.hpp"

namespace isthmus::transfer {

/// A kind of link between host and device, whose figures are alike.
struct LinkClass {
  enum class Kind { pcie, nvlink_c2c, emulated };
  Kind kind = Kind::pcie;
  int generation = 4;  ///< of PCIe: 3 to 6
  int width = 16;      ///< of PCIe: lanes

  bool operator==(const LinkClass&) const = default;
  /// "PCIe Gen5 x16", "NVLink-C2C", "emulated link"
  std::string name() const;
};

/// The machine that a profile is of.
struct ProfileIdentity {
  bool emulated = false;
  std::string gpu_uuid;
  std::string gpu_name;
  LinkClass link;
  int cuda_version = 0;        ///< of the driver: 13000
  std::string driver_release;  ///< "580.159.04"; "" where that isn't known
  std::string cpu_model;       ///< "" where that isn't known
  double num_cores = 1;        ///< to copy with: host::effective_cores()
};

/// Collects it. A PCIe link that the kernel doesn't describe is taken for Gen4 x16.
///
/// root        "/" on a real machine
ProfileIdentity identity_of(const DeviceFacts& device, double num_cores, bool emulated,
                            const std::filesystem::path& root = "/");

/// The name of the file that the profile is kept in: by GPU and link, so that a GPU that is moved
/// to another slot has another.
std::string profile_file_name(const ProfileIdentity& identity);

}  // namespace isthmus::transfer
