#include "window/copies/copy_cpus.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>

#include <sched.h>

#include <isthmus/errors.hpp>

#include "driver/environment.hpp"
#include "host/cpu/cgroup.hpp"
#include "host/cpu/cpu_list.hpp"
#include "host/cpu/spinning_worker.hpp"
#include "host/cpu/topology.hpp"
#include "host/system/printable.hpp"

namespace isthmus::window {
namespace {

const std::vector<int> kCpusAtLoad = host::allowed_cpus();

bool contains(const std::vector<int>& cpus, int cpu) {
  return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
}

/// The CPUs on the node, or if there is none, on the calling thread's node; all CPUs if the node is
/// unknown or has none of them.
std::vector<int> near(const std::vector<int>& cpus, std::optional<int> node_id) {
  const int here = sched_getcpu();
  for (const host::NumaNode& node : host::numa_nodes()) {
    if (!(node_id ? node.id == *node_id : contains(node.cpus, here))) continue;
    const std::vector<int> found = host::intersect_cpu_lists(cpus, node.cpus);
    return found.empty() ? cpus : found;
  }
  return cpus;
}

}  // namespace

CopyCpus cpus_for_copies(std::optional<int> node) {
  const std::vector<int> own = host::allowed_cpus();
  std::vector<int> all;
  std::set_union(kCpusAtLoad.begin(), kCpusAtLoad.end(), own.begin(), own.end(),
                 std::back_inserter(all));
  CopyCpus found;
  found.cpus = near(all, node);
  const double quota = host::cpu_quota_cores().value_or(std::numeric_limits<int>::max());
  const double cores = std::min(static_cast<double>(found.cpus.size()), quota);
  found.max_helpers = std::max(0, static_cast<int>(cores) - 1);
  if (own.size() == 1) std::erase(found.cpus, own.front());
  return found;
}

namespace {

constexpr unsigned kMaxMicroseconds = 1'000'000;
constexpr std::size_t kShownBytes = 40;

}  // namespace

std::chrono::microseconds spin_time() {
  return spin_time_from(environment("ISTHMUS_SPIN_US").value_or(""));
}

std::chrono::microseconds spin_time_from(const std::string& microseconds) {
  if (microseconds.empty()) return host::kDefaultSpinTime;
  unsigned value = 0;
  const char* const end = microseconds.data() + microseconds.size();
  const auto read = std::from_chars(microseconds.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || value > kMaxMicroseconds)
    throw UsageError("ISTHMUS_SPIN_US is '" + host::printable(microseconds, kShownBytes) +
                     "'; it must be a whole number of microseconds up to " +
                     std::to_string(kMaxMicroseconds) + ", or not be set");
  return std::chrono::microseconds(value);
}

}  // namespace isthmus::window
