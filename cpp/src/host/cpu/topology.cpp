#include "host/cpu/topology.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <utility>

#include <isthmus/errors.hpp>

#include "host/cpu/cpu_list.hpp"
#include "host/system/text_file.hpp"

namespace isthmus::host {
namespace {

constexpr std::size_t kBitsPerWord = 8 * sizeof(unsigned long);
// Linux supports at most 1024 nodes (CONFIG_NODES_SHIFT 10). get_mempolicy fails if the mask is too
// small; a longer list of nodes is damaged, and each that it names would cost reading two files.
constexpr std::size_t kMaxNodes = 1024;
// set_mempolicy and get_mempolicy read one bit fewer than the given count: see numactl's libnuma.
constexpr unsigned long kMaskBits = kMaxNodes + 1;

std::vector<unsigned long> empty_node_mask() {
  return std::vector<unsigned long>(kMaxNodes / kBitsPerWord + 1);
}

NumaNode require_node(int id) {
  std::vector<int> known;
  for (NumaNode& node : numa_nodes()) {
    if (node.id == id) return std::move(node);
    known.push_back(node.id);
  }
  throw UsageError("no NUMA node " + std::to_string(id) + "; this machine has " +
                   format_cpu_list(known));
}

/// The first byte of pages spread evenly over a range, at most `max_pages` of them.
std::vector<const void*> sampled_pages(const void* address, std::size_t size_bytes,
                                       std::size_t max_pages) {
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t first = start / page_bytes;
  const std::size_t num_pages = (start + size_bytes - 1) / page_bytes - first + 1;
  const std::size_t num_sampled = std::min(num_pages, std::max<std::size_t>(1, max_pages));
  std::vector<const void*> pages(num_sampled);
  for (std::size_t i = 0; i < num_sampled; ++i) {
    const std::uintptr_t page = first + i * num_pages / num_sampled;
    pages[i] = reinterpret_cast<const void*>(page * page_bytes);
  }
  return pages;
}

}  // namespace

std::vector<int> bind_thread_to_node(int node) {
  std::vector<int> cpus = intersect_cpu_lists(require_node(node).cpus, allowed_cpus());
  if (cpus.empty() || !allow_cpus(cpus)) cpus.clear();
  return cpus;
}

ScopedThreadBinding::ScopedThreadBinding(int node)
    : previous_(allowed_cpus()), cpus_(bind_thread_to_node(node)) {}

ScopedThreadBinding::~ScopedThreadBinding() {
  if (in_force()) allow_cpus(previous_);
}

ScopedMemoryPolicy::ScopedMemoryPolicy(int node, MemoryPlacement placement)
    : previous_nodes_(empty_node_mask()) {
  const auto id = static_cast<std::size_t>(require_node(node).id);
  if (syscall(SYS_get_mempolicy, &previous_mode_, previous_nodes_.data(), kMaskBits, nullptr, 0) !=
      0) {
    return;
  }
  std::vector<unsigned long> nodes = empty_node_mask();
  nodes[id / kBitsPerWord] |= 1UL << (id % kBitsPerWord);
  const int mode = placement == MemoryPlacement::bound ? MPOL_BIND : MPOL_PREFERRED;
  in_force_ = syscall(SYS_set_mempolicy, mode, nodes.data(), kMaskBits) == 0;
}

ScopedMemoryPolicy::~ScopedMemoryPolicy() {
  if (in_force_) syscall(SYS_set_mempolicy, previous_mode_, previous_nodes_.data(), kMaskBits);
}

std::map<int, std::size_t> pages_by_node(const void* address, std::size_t size_bytes,
                                         std::size_t max_pages) {
  std::map<int, std::size_t> counts;
  if (size_bytes == 0) return counts;
  std::vector<const void*> pages = sampled_pages(address, size_bytes, max_pages);
  std::vector<int> nodes(pages.size(), -1);
  // Without target nodes move_pages moves nothing and reports where each page is.
  if (syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, nodes.data(), 0) != 0) {
    return counts;
  }
  for (const int node : nodes) {
    if (node >= 0) ++counts[node];
  }
  return counts;
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDomainDigits = 4;
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
    if (static_cast<std::size_t>(id) >= kMaxNodes) break;
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
