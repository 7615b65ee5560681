#include "host/memory/memory_limits.hpp"

#include <algorithm>
#include <string>

#include <sys/resource.h>

#include "host/cpu/cgroup.hpp"
#include "host/system/text_file.hpp"

namespace isthmus::host {
namespace {

namespace fs = std::filesystem;

// v1 has no text for "no limit": it shows LONG_MAX rounded down to a page.
constexpr std::int64_t kNoLimit = 0x4000'0000'0000'0000;

struct CgroupMemory {
  std::uint64_t limit_bytes = 0;
  std::uint64_t left_bytes = 0;
};

struct Names {
  const char* limit;
  const char* usage;
  const char* reclaimable;
};

constexpr Names kV1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr Names kV2{"memory.max", "memory.current", "inactive_file"};

std::optional<CgroupMemory> memory_of(const CgroupFolder& folder) {
  const Names& names = folder.version == CgroupVersion::v1 ? kV1 : kV2;
  const auto limit = read_integer(folder.path / names.limit);
  if (!limit || *limit < 0 || *limit >= kNoLimit) return std::nullopt;
  const auto usage = std::max<std::int64_t>(0, read_integer(folder.path / names.usage).value_or(0));
  // Cached file pages count as used, although the kernel frees them before an allocation fails.
  const std::string stat = read_text(folder.path / "memory.stat").value_or("");
  const auto reclaimable = stat_value(stat, names.reclaimable).value_or(0);
  const auto used = static_cast<std::uint64_t>(usage);
  const auto kept = used - std::min(used, reclaimable);
  const auto limit_bytes = static_cast<std::uint64_t>(*limit);
  return CgroupMemory{limit_bytes, limit_bytes - std::min(limit_bytes, kept)};
}

std::optional<std::uint64_t> memlock_bytes() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::nullopt;
  }
  return limit.rlim_cur;
}

}  // namespace

MemoryLimits memory_limits(const fs::path& root) {
  const std::string meminfo = read_text(root / "proc/meminfo").value_or("");
  MemoryLimits limits;
  limits.total_bytes = meminfo_bytes(meminfo, "MemTotal").value_or(0);
  limits.available_bytes = meminfo_bytes(meminfo, "MemAvailable").value_or(limits.total_bytes);
  limits.memlock_bytes = memlock_bytes();
  for (const CgroupFolder& folder : cgroup_folders("memory", root)) {
    const auto group = memory_of(folder);
    if (!group) continue;
    limits.available_bytes = std::min(limits.available_bytes, group->left_bytes);
    limits.cgroup_limit_bytes =
        std::min(limits.cgroup_limit_bytes.value_or(group->limit_bytes), group->limit_bytes);
  }
  return limits;
}

}  // namespace isthmus::host
