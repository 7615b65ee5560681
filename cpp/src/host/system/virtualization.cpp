#include "host/system/virtualization.hpp"

#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "host/system/printable.hpp"
#include "host/system/text_file.hpp"

namespace isthmus::host {

std::string cpu_model(const std::filesystem::path& root) {
  const std::string all = read_text(root / "proc/cpuinfo").value_or("");
  for (const std::string_view line : split(all, '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || trimmed(line.substr(0, colon)) != "model name") continue;
    return printable(trimmed(line.substr(colon + 1)));
  }
  return "";
}

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build ...": the
// first word that begins with a digit and has a dot.
std::string nvidia_module_release(const std::filesystem::path& root) {
  const std::string all = read_text(root / "proc/driver/nvidia/version").value_or("");
  const std::string_view first_line = std::string_view(all).substr(0, all.find('\n'));
  for (const std::string_view word : split(first_line, ' ')) {
    if (word.empty() || std::isdigit(static_cast<unsigned char>(word.front())) == 0) continue;
    if (word.find('.') != std::string_view::npos) return printable(word);
  }
  return "";
}

}  // namespace isthmus::host

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "host/system/printable.hpp"
#include "host/system/text_file.hpp"

namespace isthmus::host {
namespace {

namespace fs = std::filesystem;

/// Text that container managers put into the cgroup paths of their containers.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kMarks{
    {{"kubepods", "kubernetes"}, {"/docker", "docker"}, {"libpod", "podman"}, {"/lxc", "lxc"}}};

#if defined(__x86_64__) || defined(__i386__)
// Source: Intel SDM vol. 2A, CPUID leaf 1; every hypervisor uses the leaves from 0x40000000 on.
constexpr unsigned kHypervisorBit = 31;
constexpr unsigned kHypervisorLeaf = 0x40000000;
#endif

/// True if a "flags" line of /proc/cpuinfo has the word.
bool cpuinfo_says_hypervisor(const fs::path& root) {
  const std::string text = read_text(root / "proc/cpuinfo").value_or("");
  const auto flags = text.find("\nflags");
  if (flags == std::string::npos) return false;
  const std::string line = text.substr(flags + 1, text.find('\n', flags + 1) - flags - 1) + ' ';
  return line.find(" hypervisor ") != std::string::npos;
}

/// The container manager, found from process 1 or a cgroup path.
std::string container_name(const fs::path& root) {
  std::error_code absent;
  if (fs::exists(root / ".dockerenv", absent)) return "docker";
  if (fs::exists(root / "run/.containerenv", absent)) return "podman";
  // systemd's convention: https://systemd.io/CONTAINER_INTERFACE
  if (const auto manager = read_text(root / "run/systemd/container")) return printable(*manager);
  const std::string groups = read_text(root / "proc/self/cgroup").value_or("");
  for (const auto& [mark, name] : kMarks) {
    if (groups.find(mark) != std::string::npos) return std::string(name);
  }
  return {};
}

}  // namespace

HypervisorFlag hypervisor_flag() {
  HypervisorFlag flag;
#if defined(__x86_64__) || defined(__i386__)
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return flag;
  flag.present = (ecx >> kHypervisorBit & 1U) != 0;
  if (!flag.present) return flag;
  // Not __get_cpuid: it refuses leaves above the ordinary maximum, such as this one.
  __cpuid(kHypervisorLeaf, eax, ebx, ecx, edx);
  std::array<char, 13> signature{};
  std::memcpy(signature.data(), &ebx, sizeof ebx);
  std::memcpy(signature.data() + 4, &ecx, sizeof ecx);
  std::memcpy(signature.data() + 8, &edx, sizeof edx);
  flag.signature = trimmed(signature.data());
#endif
  return flag;
}

Virtualization virtualization(const fs::path& root, const HypervisorFlag& flag) {
  const fs::path firmware = root / "sys/class/dmi/id";
  Virtualization facts;
  facts.virtual_machine = flag.present || cpuinfo_says_hypervisor(root);
  facts.hypervisor = printable(flag.signature);
  facts.system_vendor = printable(read_text(firmware / "sys_vendor").value_or(""));
  facts.product_name = printable(read_text(firmware / "product_name").value_or(""));
  facts.container = container_name(root);
  return facts;
}

}  // namespace isthmus::host
