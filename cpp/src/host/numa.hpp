// Where threads run and where pages lie: binding both to a NUMA node, and checking it worked.
//
// Containers often forbid the memory calls (Docker's default seccomp profile) and sandboxes lack
// them (gVisor). None of this throws for that: it reports that it isn't in force.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace isthmus::host {

/// Runs the calling thread on one node's CPUs while it lives; then on those it could use before.
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

  /// False if none of the node's CPUs is allowed here, or the kernel refused.
  bool in_force() const noexcept { return !cpus_.empty(); }
  /// The CPUs bound to, ascending; empty if not in force.
  const std::vector<int>& cpus() const noexcept { return cpus_; }

private:
  std::vector<int> previous_;
  std::vector<int> cpus_;
};

/// Runs the calling thread on one node's CPUs from now on.
///
/// Returns     the CPUs it is bound to: the node's that it was allowed to use anyway; {} if
///             there is none or the kernel refused, and nothing has changed then.
/// Throws      UsageError if there is no such node.
std::vector<int> bind_thread_to_node(int node);

enum class MemoryPlacement {
  preferred,  ///< on the node, elsewhere when it is full
  bound,      ///< on the node; out of memory when it is full
};

/// Puts the pages the calling thread touches first on one node while it lives.
///
/// Threads started meanwhile inherit the policy. Pages that already lie somewhere stay there.
/// Must end on the thread it began on.
class [[nodiscard]] ScopedMemoryPolicy {
public:
  /// Throws UsageError if there is no such node.
  explicit ScopedMemoryPolicy(int node, MemoryPlacement placement = MemoryPlacement::preferred);
  ~ScopedMemoryPolicy();
  ScopedMemoryPolicy(const ScopedMemoryPolicy&) = delete;
  ScopedMemoryPolicy& operator=(const ScopedMemoryPolicy&) = delete;

  /// False if the kernel refused: pages then go where the thread runs, usually.
  bool in_force() const noexcept { return in_force_; }

private:
  std::vector<unsigned long> previous_nodes_;
  int previous_mode_ = 0;
  bool in_force_ = false;
};

inline constexpr std::size_t kMaxPagesSampled = 4096;

/// Number of pages of a range on each node, of pages sampled evenly over the range.
///
/// address     host
/// max_pages   > 0; with as many pages or fewer in the range, each of them is asked for
/// Returns     {} where the kernel can't or won't say. Pages never touched, and pages the kernel
///             doesn't track (device mappings), are in no node's count.
std::map<int, std::size_t> pages_by_node(const void* address, std::size_t size_bytes,
                                         std::size_t max_pages = kMaxPagesSampled);

}  // namespace isthmus::host
