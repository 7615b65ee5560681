// Where a container's limits are written down: cgroup v2, and v1 as long as it is met.
#pragma once

#include <filesystem>
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
/// Within a container the path in /proc/self/cgroup may not exist as seen from inside; what is left
/// then is the mounted root, which is the container's own group.
///
/// controller  "cpu" or "memory"
std::vector<CgroupFolder> cgroup_folders(std::string_view controller,
                                         const std::filesystem::path& root = "/");

}  // namespace isthmus::host
