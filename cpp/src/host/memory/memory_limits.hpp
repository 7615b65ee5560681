// How much host memory this process may use, and how much of it may be locked.
// Which huge pages the kernel offers: transparent ones, and the reserved pools.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isthmus::host {

struct MemoryLimits {
  std::uint64_t total_bytes = 0;  ///< of the machine
  std::uint64_t available_bytes =
      0;  ///< what can still be allocated: machine and cgroup, the smaller
  std::optional<std::uint64_t> cgroup_limit_bytes;  ///< the tightest; nothing without a limit
  std::optional<std::uint64_t> memlock_bytes;       ///< RLIMIT_MEMLOCK; nothing if unlimited
};

/// Reads the limits that hold for this process now.
MemoryLimits memory_limits(const std::filesystem::path& root = "/");

struct HugePagePool {
  std::uint64_t page_bytes = 0;
  std::uint64_t num_pages = 0;
  std::uint64_t num_free_pages = 0;
};

struct HugePages {
  std::uint64_t base_page_bytes = 0;
  std::string transparent;  ///< "always", "madvise" or "never"; "" without THP in the kernel
  std::vector<HugePagePool> pools;  ///< one for each size the kernel knows, ascending; often empty
};

/// Reads the huge-page facts below `root`.
HugePages huge_pages(const std::filesystem::path& root = "/");

/// True if this process gets transparent huge pages where it advises them: the machine's setting
/// isn't "never", and nobody has turned them off for the process (PR_SET_THP_DISABLE; parents hand
/// it down).
bool gives_advised_huge_pages(const std::filesystem::path& root = "/");

/// The word in brackets: "always [madvise] never" is "madvise"; "" if there is none.
std::string_view chosen_word(std::string_view text) noexcept;

}  // namespace isthmus::host
