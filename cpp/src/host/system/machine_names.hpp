// The name of this machine's CPU, and the release of NVIDIA's kernel module.
#pragma once

#include <filesystem>
#include <string>

namespace isthmus::host {

/// "AMD EPYC 9654 96-Core Processor"; "" if /proc/cpuinfo doesn't contain it (Arm).
std::string cpu_model(const std::filesystem::path& root = "/");

/// "580.159.04"; "" if no such module is loaded.
std::string nvidia_module_release(const std::filesystem::path& root = "/");

}  // namespace isthmus::host
