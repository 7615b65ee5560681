// The name of this machine's CPU, and the release of NVIDIA's kernel module.
// Whether this is a virtual machine or a container: both influence measurements.
#pragma once

#include <filesystem>
#include <string>

namespace isthmus::host {

/// "AMD EPYC 9654 96-Core Processor"; "" if /proc/cpuinfo doesn't contain it (Arm).
std::string cpu_model(const std::filesystem::path& root = "/");

/// "580.159.04"; "" if no such module is loaded.
std::string nvidia_module_release(const std::filesystem::path& root = "/");

struct Virtualization {
  bool virtual_machine = false;
  std::string hypervisor;     ///< from the CPU: "KVMKVMKVM"; "" if it gives none
  std::string system_vendor;  ///< from the firmware: "Amazon EC2"; "" if hidden
  std::string product_name;
  std::string container;  ///< "docker", "podman", "kubernetes", "lxc", another's name, or ""
};

/// The hypervisor bit and signature, read from the CPU.
struct HypervisorFlag {
  bool present = false;
  std::string signature;
};

/// Asks the CPU; never present if the instruction set has no such query.
HypervisorFlag hypervisor_flag();

/// Reads below `root`, and combines it with the CPU's answer.
Virtualization virtualization(const std::filesystem::path& root = "/",
                              const HypervisorFlag& flag = hypervisor_flag());

}  // namespace isthmus::host
