#include "host/cpu/cgroup.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "host/cpu/cpu_list.hpp"
#include "host/system/text_file.hpp"

namespace isthmus::host {
namespace {

namespace fs = std::filesystem;

/// One line of /proc/self/cgroup: "4:memory:/group", or "0::/group" for v2.
struct Membership {
  std::string controllers;
  std::string group;
};

std::optional<Membership> parse_membership(const std::string& line) {
  const auto first = line.find(':');
  const auto second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos) return std::nullopt;
  return Membership{line.substr(first + 1, second - first - 1), line.substr(second + 1)};
}

bool lists_controller(const std::string& controllers, std::string_view wanted) {
  const auto names = split(controllers, ',');
  return std::find(names.begin(), names.end(), wanted) != names.end();
}

/// Adds `mount`/`group` and its parents, if they exist, down to `mount` itself.
void add_folders(std::vector<CgroupFolder>& folders, CgroupVersion version, const fs::path& mount,
                 const std::string& group) {
  std::error_code absent;
  // A group outside this cgroup namespace reads "/../..": only the mounted root is visible to us.
  const bool outside = group.find("..") != std::string::npos;
  for (fs::path below = outside ? fs::path() : fs::path(group).relative_path(); !below.empty();
       below = below.parent_path()) {
    if (fs::is_directory(mount / below, absent)) folders.push_back({version, mount / below});
  }
  if (fs::is_directory(mount, absent)) folders.push_back({version, mount});
}

/// v1 controllers are mounted together or separately: "cpu", "cpu,cpuacct", "cpuacct,cpu".
fs::path v1_mount(const fs::path& base, const std::string& controllers,
                  std::string_view controller) {
  std::error_code absent;
  if (fs::is_directory(base / controllers, absent)) return base / controllers;
  return base / controller;
}

fs::path v2_mount(const fs::path& base) {
  std::error_code absent;
  const fs::path hybrid = base / "unified";
  return fs::is_directory(hybrid, absent) ? hybrid : base;
}

}  // namespace

std::vector<CgroupFolder> cgroup_folders(std::string_view controller, const fs::path& root) {
  const fs::path base = root / "sys/fs/cgroup";
  std::vector<CgroupFolder> folders;
  const std::string memberships = read_text(root / "proc/self/cgroup").value_or("");
  for (const std::string_view line : split(memberships, '\n')) {
    const auto membership = parse_membership(std::string(line));
    if (!membership) continue;
    if (membership->controllers.empty()) {
      add_folders(folders, CgroupVersion::v2, v2_mount(base), membership->group);
    } else if (lists_controller(membership->controllers, controller)) {
      add_folders(folders, CgroupVersion::v1, v1_mount(base, membership->controllers, controller),
                  membership->group);
    }
  }
  return folders;
}

namespace {

namespace fs = std::filesystem;

std::optional<double> cores_of(std::optional<std::int64_t> quota_us,
                               std::optional<std::int64_t> period_us) {
  // v1 writes -1 and v2 writes "max" (which isn't a number) for no limit.
  if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0) return std::nullopt;
  return static_cast<double>(*quota_us) / static_cast<double>(*period_us);
}

std::optional<double> quota_of(const CgroupFolder& folder) {
  if (folder.version == CgroupVersion::v1) {
    return cores_of(read_integer(folder.path / "cpu.cfs_quota_us"),
                    read_integer(folder.path / "cpu.cfs_period_us"));
  }
  const std::string text = read_text(folder.path / "cpu.max").value_or("");
  const auto space = text.find(' ');
  if (space == std::string::npos) return std::nullopt;
  const std::string_view view = text;
  return cores_of(parse_integer(view.substr(0, space)), parse_integer(view.substr(space)));
}

}  // namespace

std::optional<double> cpu_quota_cores(const fs::path& root) {
  std::optional<double> tightest;
  for (const CgroupFolder& folder : cgroup_folders("cpu", root)) {
    const auto quota = quota_of(folder);
    if (quota && (!tightest || *quota < *tightest)) tightest = quota;
  }
  return tightest;
}

double effective_cores(const fs::path& root) {
  const double allowed = std::max(1.0, static_cast<double>(allowed_cpus().size()));
  return std::min(allowed, cpu_quota_cores(root).value_or(allowed));
}

}  // namespace isthmus::host
