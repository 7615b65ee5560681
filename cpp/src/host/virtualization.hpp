// Whether this is a virtual machine or a container: both change what a measurement means.
#pragma once

#include <filesystem>
#include <string>

namespace isthmus::host {

struct Virtualization {
  bool virtual_machine = false;
  std::string hypervisor;     ///< the CPU's word for it: "KVMKVMKVM"; "" if it gives none
  std::string system_vendor;  ///< the firmware's: "Amazon EC2"; "" if hidden
  std::string product_name;
  std::string container;  ///< "docker", "podman", "kubernetes", "lxc", another's name, or ""
};

/// The hypervisor bit and its signature, from the CPU itself.
struct HypervisorFlag {
  bool present = false;
  std::string signature;
};

/// Asks the CPU; never present where the instruction set has no such question.
HypervisorFlag hypervisor_flag();

/// Reads below `root`, and joins it with what the CPU says.
Virtualization virtualization(const std::filesystem::path& root = "/",
                              const HypervisorFlag& flag = hypervisor_flag());

}  // namespace isthmus::host
