#include "host/cpu/affinity.hpp"

#include <array>

#include <sched.h>

namespace isthmus::host {
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
