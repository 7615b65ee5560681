// How much host memory this process may use, and how much of it may be locked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

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

}  // namespace isthmus::host
