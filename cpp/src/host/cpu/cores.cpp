#include "host/cpu/cores.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "host/cpu/affinity.hpp"
#include "host/cpu/cgroup.hpp"
#include "host/system/text_file.hpp"

namespace isthmus::host {
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
