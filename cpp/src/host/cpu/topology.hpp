// NUMA nodes, and the node that a PCI device is attached to.
//
// Functions here read below `root`, "/" on a real machine and a fixture tree in tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isthmus::host {

struct NumaNode {
  int id = 0;
  std::vector<int> cpus;           ///< ascending; empty for memory without CPUs (CXL, GPU memory)
  std::uint64_t memory_bytes = 0;  ///< installed
};

/// The NUMA nodes that are online, by id.
///
/// Returns     at least one: if the kernel shows no nodes, node 0 with this thread's allowed CPUs
///             and all memory.
std::vector<NumaNode> numa_nodes(const std::filesystem::path& root = "/");

/// The node a PCI device is attached to.
///
/// address     "0000:01:00.0"; upper case and NVML's eight-digit domain are understood
/// Returns     the only node if the kernel doesn't tell and there is just one; nothing if it
///             doesn't tell and there are several.
/// Throws      UsageError if `address` isn't a PCI address.
std::optional<int> pci_numa_node(std::string_view address, const std::filesystem::path& root = "/");

/// The address as sysfs spells it: four-digit domain, lower case.
///
/// Throws      UsageError if `address` isn't a PCI address.
std::string sysfs_pci_address(std::string_view address);

}  // namespace isthmus::host
