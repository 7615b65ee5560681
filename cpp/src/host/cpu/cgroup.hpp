// Where a container's limits are stored: in cgroup v2, or in v1 on older systems.
// How much CPU time this process can use.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace isthmus::host {

enum class CgroupVersion { v1, v2 };

struct CgroupFolder {
  CgroupVersion version = CgroupVersion::v2;
  std::filesystem::path path;
};

/// The folders whose limits apply to this process, innermost first, up to the hierarchy's root.
///
/// The path in /proc/self/cgroup may not exist inside a container; then only the mounted root is
/// left, which is the container's own group.
///
/// controller  "cpu" or "memory"
std::vector<CgroupFolder> cgroup_folders(std::string_view controller,
                                         const std::filesystem::path& root = "/");

/// The tightest CPU quota of this process's cgroups, in cores.
///
/// Returns     nothing if there is no quota; 2.5 for 250 ms in each 100 ms.
std::optional<double> cpu_quota_cores(const std::filesystem::path& root = "/");

/// The number of cores to plan threads for: allowed CPUs, or the quota if that is less.
///
/// Returns     at least a small positive number; may be a fraction.
double effective_cores(const std::filesystem::path& root = "/");

}  // namespace isthmus::host
