// Binds threads and pages to a NUMA node, and checks the result.
//
// Containers often forbid the memory calls (Docker's default seccomp profile) and sandboxes lack
// them (gVisor). Nothing here throws because of that: it reports that the binding isn't in force.
// NUMA nodes, and the node that a PCI device is attached to.
//
// Functions here read below `root`, "/" on a real machine and a fixture tree in tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isthmus::host {

/// Runs the calling thread on one node's CPUs during its life; afterwards on its previous CPUs.
///
/// Threads started meanwhile inherit the binding. Must end on the thread it began on.
class [[nodiscard]] ScopedThreadBinding {
public:
  /// Binds to the node's CPUs that the thread is allowed to use anyway.
  ///
  /// Throws UsageError if there is no such node.
  explicit ScopedThreadBinding(int node);
  ~ScopedThreadBinding();
  ScopedThreadBinding(const ScopedThreadBinding&) = delete;
  ScopedThreadBinding& operator=(const ScopedThreadBinding&) = delete;

  /// False if the thread may use none of the node's CPUs, or the kernel refused.
  bool in_force() const noexcept { return !cpus_.empty(); }
  /// The CPUs of the binding, ascending; empty if not in force.
  const std::vector<int>& cpus() const noexcept { return cpus_; }

private:
  std::vector<int> previous_;
  std::vector<int> cpus_;
};

/// Runs the calling thread on one node's CPUs from now on.
///
/// Returns     the CPUs it is bound to: those of the node that it was allowed to use anyway. {} if
///             there are none or the kernel refused: then nothing has changed.
/// Throws      UsageError if there is no such node.
std::vector<int> bind_thread_to_node(int node);

enum class MemoryPlacement {
  preferred,  ///< on the node, elsewhere if it is full
  bound,      ///< on the node; out of memory if it is full
};

/// During its life, pages that the calling thread touches first lie on one node.
///
/// Threads started meanwhile inherit the policy. Existing pages don't move. Must end on the thread
/// it began on.
class [[nodiscard]] ScopedMemoryPolicy {
public:
  /// Throws UsageError if there is no such node.
  explicit ScopedMemoryPolicy(int node, MemoryPlacement placement = MemoryPlacement::preferred);
  ~ScopedMemoryPolicy();
  ScopedMemoryPolicy(const ScopedMemoryPolicy&) = delete;
  ScopedMemoryPolicy& operator=(const ScopedMemoryPolicy&) = delete;

  /// False if the kernel refused: then pages usually lie where the thread runs.
  bool in_force() const noexcept { return in_force_; }

private:
  std::vector<unsigned long> previous_nodes_;
  int previous_mode_ = 0;
  bool in_force_ = false;
};

inline constexpr std::size_t kMaxPagesSampled = 4096;

/// The number of pages of a range on each node, from a sample of pages spread evenly over the
/// range.
///
/// address     host
/// max_pages   > 0; if the range has no more pages than this, all of them are checked
/// Returns     {} if the kernel can't or won't tell. Pages never touched, and pages the kernel
///             doesn't track (device mappings), count for no node.
std::map<int, std::size_t> pages_by_node(const void* address, std::size_t size_bytes,
                                         std::size_t max_pages = kMaxPagesSampled);

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
