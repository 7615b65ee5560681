// How much CPU time this process can use.
#pragma once

#include <filesystem>
#include <optional>

namespace isthmus::host {

/// The tightest CPU quota of this process's cgroups, in cores.
///
/// Returns     nothing if there is no quota; 2.5 for 250 ms in each 100 ms.
std::optional<double> cpu_quota_cores(const std::filesystem::path& root = "/");

/// The number of cores to plan threads for: allowed CPUs, or the quota if that is less.
///
/// Returns     at least a small positive number; may be a fraction.
double effective_cores(const std::filesystem::path& root = "/");

}  // namespace isthmus::host
