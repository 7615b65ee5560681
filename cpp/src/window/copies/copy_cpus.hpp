// On which CPUs the threads that help a copy may run, how many threads there are, and how long they
// wait for the next copy before they sleep.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace isthmus::window {

struct CopyCpus {
  std::vector<int> cpus;  ///< ascending; empty if the kernel doesn't tell
  int max_helpers = 0;    ///< in addition to the copying thread; may be 0
};

/// The CPUs for threads that help the calling thread: those of one NUMA node that the process could
/// use when the library was loaded. A later binding of the calling thread matters only if it is a
/// single CPU, which is then left to that thread.
///
/// node        if absent: the calling thread's; if it has no such CPUs, all CPUs count
///
/// Helpers spin, so there is one fewer than there are cores to spin on (cgroup quotas included).
CopyCpus cpus_for_copies(std::optional<int> node = std::nullopt);

/// $ISTHMUS_SPIN_US, or host::kDefaultSpinTime if it isn't set.
///
/// Throws   UsageError if it isn't a whole number of microseconds up to 1,000,000.
std::chrono::microseconds spin_time();

/// The same of a value; "": the default.
std::chrono::microseconds spin_time_from(const std::string& microseconds);

}  // namespace isthmus::window
