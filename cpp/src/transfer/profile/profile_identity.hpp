// What a profile belongs to: it doesn't apply to another GPU, link or driver.
#pragma once

#include <filesystem>
#include <string>

#include "device/device_facts.hpp"

namespace isthmus::transfer {

/// A kind of link between host and device. Links of one kind have similar figures.
struct LinkClass {
  enum class Kind { pcie, nvlink_c2c, emulated };
  Kind kind = Kind::pcie;
  int generation = 4;  ///< of PCIe: 3 to 6
  int width = 16;      ///< of PCIe: lanes

  bool operator==(const LinkClass&) const = default;
  /// "PCIe Gen5 x16", "NVLink-C2C", "emulated link"
  std::string name() const;
};

/// The machine that a profile belongs to.
struct ProfileIdentity {
  bool emulated = false;
  std::string gpu_uuid;
  std::string gpu_name;
  LinkClass link;
  int cuda_version = 0;        ///< of the driver: 13000
  std::string driver_release;  ///< "580.159.04"; "" if unknown
  std::string cpu_model;       ///< "" if unknown
  double num_cores = 1;        ///< available for copies: host::effective_cores()
};

/// Reads it from the machine. A PCIe link that the kernel doesn't describe counts as Gen4 x16.
///
/// root        "/" on a real machine
ProfileIdentity identity_of(const DeviceFacts& device, double num_cores, bool emulated,
                            const std::filesystem::path& root = "/");

/// The name of the profile's file, by GPU and link: a GPU that is moved to another slot gets
/// another file.
std::string profile_file_name(const ProfileIdentity& identity);

}  // namespace isthmus::transfer
