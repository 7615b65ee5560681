#include "window/backends/rm_versions.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace isthmus::window::rm {
namespace {

using Version = std::array<int, 3>;

struct TestedVersion {
  Version version;
  std::string_view gpus;
};

// Source: tests/gpu/run.sh and benchmarks/windows, run on these.
constexpr std::array kTested{
    TestedVersion{{580, 159, 4}, "H100 SXM, H200"},
};

std::optional<Version> parsed(std::string_view text) {
  Version version{};
  for (std::size_t part = 0; part < version.size(); ++part) {
    const char* const begin = text.data();  // NOLINT(bugprone-suspicious-stringview-data-usage)
    const auto [rest, error] = std::from_chars(begin, begin + text.size(), version[part]);
    if (error != std::errc{} || version[part] < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(rest - begin));
    if (text.empty()) return part >= 1 ? std::optional(version) : std::nullopt;
    if (text.front() != '.') return std::nullopt;
    text.remove_prefix(1);
  }
  return std::nullopt;
}

}  // namespace

Verdict judge(std::string_view driver_version) {
  const std::string name = "driver " + std::string(driver_version);
  const std::optional<Version> version = parsed(driver_version);
  if (!version) return {Trust::refused, name + " is not a version this code knows"};
  for (const TestedVersion& tested : kTested)
    if (tested.version == *version)
      return {Trust::tested, name + ", tested on " + std::string(tested.gpus)};
  const auto newest = std::max_element(
      kTested.begin(), kTested.end(),
      [](const TestedVersion& a, const TestedVersion& b) { return a.version < b.version; });
  if (*version > newest->version) return {Trust::untested, name + ", newer than any tested one"};
  return {Trust::refused, name + " is older than the tested ones (580.159.04 and later)"};
}

}  // namespace isthmus::window::rm
