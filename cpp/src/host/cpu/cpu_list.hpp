// CPU lists as the Linux kernel writes them: "0-3,8,10-11".
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

}  // namespace isthmus::host
