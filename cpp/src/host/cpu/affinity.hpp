// Which CPUs the calling thread may run on. Works beyond the 1024 CPUs of a plain cpu_set_t.
#pragma once

#include <vector>

namespace isthmus::host {

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
