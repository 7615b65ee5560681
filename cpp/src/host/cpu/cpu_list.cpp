#include "host/cpu/cpu_list.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

namespace isthmus::host {
namespace {

// A range beyond this means a damaged file: Linux supports at most 8192 CPUs.
constexpr int kLargestNumber = 65'536;

std::optional<int> parse_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (number < 0 || number > kLargestNumber) return std::nullopt;
  return number;
}

std::optional<std::pair<int, int>> parse_range(std::string_view text) {
  const auto dash = text.find('-');
  const auto first = parse_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_number(text.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  return std::pair{*first, *last};
}

}  // namespace

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<std::pair<int, int>> ranges;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (const auto range = parse_range(text.substr(0, comma))) ranges.push_back(*range);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  // Sorted by first CPU, so that each is added only once, however often a damaged file names it.
  std::sort(ranges.begin(), ranges.end());
  std::vector<int> cpus;
  for (const auto& [first, last] : ranges) {
    const int next = cpus.empty() ? 0 : cpus.back() + 1;
    for (int cpu = std::max(first, next); cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::string format_cpu_list(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t first = 0; first < cpus.size();) {
    std::size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[first]);
    if (last != first) text += '-' + std::to_string(cpus[last]);
    first = last + 1;
  }
  return text;
}

std::vector<int> intersect_cpu_lists(const std::vector<int>& first,
                                     const std::vector<int>& second) {
  std::vector<int> both;
  std::set_intersection(first.begin(), first.end(), second.begin(), second.end(),
                        std::back_inserter(both));
  return both;
}

namespace {

// Linux supports at most 8192 CPUs (CONFIG_NR_CPUS with MAXSMP).
constexpr int kMaxCpus = 8192;

struct CpuMask {
  std::array<cpu_set_t, kMaxCpus / CPU_SETSIZE> sets{};

  cpu_set_t* data() { return sets.data(); }
};

}  // namespace

std::vector<int> allowed_cpus() {
  CpuMask mask;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof mask, mask.data()) != 0) return cpus;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (CPU_ISSET_S(static_cast<std::size_t>(cpu), sizeof mask, mask.data())) cpus.push_back(cpu);
  }
  return cpus;
}

bool allow_cpus(const std::vector<int>& cpus) noexcept {
  CpuMask mask;
  for (const int cpu : cpus) {
    if (cpu < 0 || cpu >= kMaxCpus) return false;
    CPU_SET_S(static_cast<std::size_t>(cpu), sizeof mask, mask.data());
  }
  return sched_setaffinity(0, sizeof mask, mask.data()) == 0;
}

}  // namespace isthmus::host
