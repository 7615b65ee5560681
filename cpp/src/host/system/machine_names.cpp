#include "host/system/machine_names.hpp"

#include <cctype>

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
