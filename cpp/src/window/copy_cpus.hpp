// Where threads that help a copy may run, and how many of them.
#pragma once

#include <optional>
#include <vector>

namespace isthmus::window {

struct CopyCpus {
  std::vector<int> cpus;  ///< ascending; empty if the kernel doesn't tell
  int max_helpers = 0;    ///< beside the thread that copies; may be 0
};

/// The CPUs for threads that help the calling thread: those the process could use when it was
/// loaded, on one NUMA node. What the calling thread has since been bound to counts only if it is a
/// single CPU, which is then left to it.
///
/// node        without one: that of the calling thread; where it has no such CPUs, all count
///
/// Helpers spin, so there is one less than there are cores to spin on (cgroup quotas included).
CopyCpus cpus_for_copies(std::optional<int> node = std::nullopt);

}  // namespace isthmus::window
