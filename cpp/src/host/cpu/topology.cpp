#include "host/cpu/topology.hpp"

#include <algorithm>
#include <cctype>

#include <isthmus/errors.hpp>

#include "host/cpu/affinity.hpp"
#include "host/cpu/cpu_list.hpp"
#include "host/system/text_file.hpp"

namespace isthmus::host {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDomainDigits = 4;
// Linux supports at most 1024 nodes (CONFIG_NODES_SHIFT 10). A longer list is damaged, and each
// node that it names would cost reading two files.
constexpr int kMaxNodes = 1024;
constexpr std::string_view kShortestAddress = "0000:00:00.0";

NumaNode read_node(const fs::path& folder, int id) {
  NumaNode node;
  node.id = id;
  node.cpus = parse_cpu_list(read_text(folder / "cpulist").value_or(""));
  const std::string meminfo = read_text(folder / "meminfo").value_or("");
  node.memory_bytes = meminfo_bytes(meminfo, "MemTotal").value_or(0);
  return node;
}

NumaNode whole_machine(const fs::path& root) {
  NumaNode node;
  node.cpus = allowed_cpus();
  const std::string meminfo = read_text(root / "proc/meminfo").value_or("");
  node.memory_bytes = meminfo_bytes(meminfo, "MemTotal").value_or(0);
  return node;
}

bool has_pci_form(std::string_view address) {
  // "DDDD:BB:DD.F"
  if (address.size() != kShortestAddress.size()) return false;
  for (std::size_t i = 0; i < address.size(); ++i) {
    const char expected = kShortestAddress[i];
    const bool fits = expected == '0' ? std::isxdigit(static_cast<unsigned char>(address[i])) != 0
                                      : address[i] == expected;
    if (!fits) return false;
  }
  return true;
}

}  // namespace

std::vector<NumaNode> numa_nodes(const fs::path& root) {
  const fs::path folder = root / "sys/devices/system/node";
  std::vector<NumaNode> nodes;
  for (const int id : parse_cpu_list(read_text(folder / "online").value_or(""))) {
    if (id >= kMaxNodes) break;
    nodes.push_back(read_node(folder / ("node" + std::to_string(id)), id));
  }
  if (nodes.empty()) nodes.push_back(whole_machine(root));
  return nodes;
}

std::string sysfs_pci_address(std::string_view address) {
  std::string_view shortened = address;
  // NVML pads the domain to eight digits.
  const auto colon = address.find(':');
  const std::size_t padding =
      colon != std::string_view::npos && colon > kDomainDigits ? colon - kDomainDigits : 0;
  if (address.substr(0, padding).find_first_not_of('0') == std::string_view::npos) {
    shortened.remove_prefix(padding);
  }
  if (!has_pci_form(shortened)) {
    throw UsageError("not a PCI address: '" + std::string(address) + "'; one looks like " +
                     "0000:01:00.0");
  }
  std::string sysfs(shortened);
  std::transform(sysfs.begin(), sysfs.end(), sysfs.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return sysfs;
}

std::optional<int> pci_numa_node(std::string_view address, const fs::path& root) {
  const fs::path device = root / "sys/bus/pci/devices" / sysfs_pci_address(address);
  const auto node = read_integer(device / "numa_node");
  if (node && *node >= 0) return static_cast<int>(*node);
  const auto nodes = numa_nodes(root);
  return nodes.size() == 1 ? std::optional(nodes.front().id) : std::nullopt;
}

}  // namespace isthmus::host
