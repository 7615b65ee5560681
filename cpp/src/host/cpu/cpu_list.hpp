// CPU lists as the Linux kernel writes them: "0-3,8,10-11".
// Which CPUs the calling thread may run on. Works beyond the 1024 CPUs of a plain cpu_set_t.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace isthmus::host {

/// The numbers in a kernel list, ascending; "" is empty. Used for CPUs and for NUMA nodes.
///
/// Parts that aren't numbers or ranges are skipped, so that a newer kernel's list can still be
/// read.
std::vector<int> parse_cpu_list(std::string_view text);

/// The kernel's form of ascending numbers: {0,1,2,8} is "0-2,8".
std::string format_cpu_list(const std::vector<int>& cpus);

/// The numbers that are in both lists, ascending. Both must be ascending.
std::vector<int> intersect_cpu_lists(const std::vector<int>& first, const std::vector<int>& second);

/// The CPUs the calling thread may run on, ascending: its affinity, within the container's cpuset.
///
/// Returns     {} if the kernel refuses to tell.
std::vector<int> allowed_cpus();

/// Lets the calling thread run on these CPUs only.
///
/// cpus        not empty
/// Returns     false if the kernel refuses; then nothing has changed.
bool allow_cpus(const std::vector<int>& cpus) noexcept;

}  // namespace isthmus::host
