#include "host/memory/memory_limits.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

#include "host/cpu/cgroup.hpp"
#include "host/system/printable.hpp"
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

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBytesPerKib = 1024;
// Of PR_GET_THP_DISABLE: for all memory. With a further bit, advised memory is excepted. Source:
// Documentation/admin-guide/mm/transhuge.rst of Linux 6.18.
constexpr int kDisabledForAll = 1;
constexpr std::string_view kPoolPrefix = "hugepages-";
constexpr std::string_view kPoolSuffix = "kB";

std::uint64_t count_in(const fs::path& file) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, read_integer(file).value_or(0)));
}

/// Reads the pool of a folder named like "hugepages-2048kB".
std::optional<HugePagePool> read_pool(const fs::path& folder) {
  const std::string name = folder.filename().string();
  std::string_view size = name;
  if (!size.starts_with(kPoolPrefix) || !size.ends_with(kPoolSuffix)) return std::nullopt;
  size.remove_prefix(kPoolPrefix.size());
  size.remove_suffix(kPoolSuffix.size());
  const auto kib = parse_integer(size);
  if (!kib || *kib <= 0) return std::nullopt;
  return HugePagePool{static_cast<std::uint64_t>(*kib) * kBytesPerKib,
                      count_in(folder / "nr_hugepages"), count_in(folder / "free_hugepages")};
}

std::vector<HugePagePool> read_pools(const fs::path& folder) {
  std::vector<HugePagePool> pools;
  for (const std::string& name : names_in(folder))
    if (const auto pool = read_pool(folder / name)) pools.push_back(*pool);
  std::sort(pools.begin(), pools.end(),
            [](const auto& a, const auto& b) { return a.page_bytes < b.page_bytes; });
  return pools;
}

std::string chosen_in(const fs::path& file) {
  return std::string(chosen_word(read_text(file).value_or("")));
}

}  // namespace

std::string_view chosen_word(std::string_view text) noexcept {
  const auto open = text.find('[');
  if (open == std::string_view::npos) return {};
  const auto close = text.find(']', open);
  if (close == std::string_view::npos) return {};
  return text.substr(open + 1, close - open - 1);
}

bool gives_advised_huge_pages(const fs::path& root) {
  if (prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == kDisabledForAll) return false;
  const fs::path folder = root / "sys/kernel/mm/transparent_hugepage";
  // Since Linux 6.8 each size has a setting of its own, too.
  std::string mode = chosen_in(folder / "hugepages-2048kB/enabled");
  if (mode.empty() || mode == "inherit") mode = chosen_in(folder / "enabled");
  return mode != "never";
}

HugePages huge_pages(const fs::path& root) {
  const fs::path memory = root / "sys/kernel/mm";
  HugePages facts;
  facts.base_page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::string modes = read_text(memory / "transparent_hugepage/enabled").value_or("");
  facts.transparent = printable(chosen_word(modes));
  facts.pools = read_pools(memory / "hugepages");
  return facts;
}

}  // namespace isthmus::host
