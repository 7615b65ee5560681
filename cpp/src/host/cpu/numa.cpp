#include "host/cpu/numa.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <isthmus/errors.hpp>

#include "host/cpu/affinity.hpp"
#include "host/cpu/cpu_list.hpp"
#include "host/cpu/topology.hpp"

namespace isthmus::host {
namespace {

constexpr std::size_t kBitsPerWord = 8 * sizeof(unsigned long);
// Linux supports at most 1024 nodes (CONFIG_NODES_SHIFT 10). get_mempolicy fails if the mask is too
// small.
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

}  // namespace isthmus::host
