#include "measure/bandwidth/copy_crew.hpp"

#include <isthmus/errors.hpp>

#include "host/affinity.hpp"
#include "host/numa.hpp"
#include "host/signal_block.hpp"
#include "measure/loops/sampling.hpp"
#include "window/copy_worker.hpp"

namespace isthmus::measure {
namespace {

constexpr int kSpins = 2000;  // some 50 us: longer than what another helper is late

/// Spins, then gives the core to whoever needs it: there may be more threads than cores.
template <typename Condition>
void wait_until(Condition condition) {
  for (int spin = 0; !condition(); ++spin) {
    if (spin < kSpins) {
      window::pause_briefly();
    } else {
      std::this_thread::yield();
    }
  }
}

int checked(int num_threads) {
  if (num_threads >= 1) return num_threads;
  throw UsageError("threads that copy: needs at least 1, got " + std::to_string(num_threads));
}

std::vector<int> usable_cpus(std::optional<int> node) {
  if (!node) return host::allowed_cpus();
  return host::ScopedThreadBinding(*node).cpus();
}

}  // namespace

CopyCrew::CopyCrew(int num_threads, std::optional<int> node) {
  const host::ScopedSignalBlock block;  // for the helpers, who inherit it
  const auto num_helpers = static_cast<std::size_t>(checked(num_threads)) - 1;
  const std::vector<int> cpus = usable_cpus(node);
  helpers_.reserve(num_helpers);
  try {
    for (std::size_t index = 1; index <= num_helpers; ++index) {
      helpers_.emplace_back([this, index, cpus] { help(index, cpus); });
    }
  } catch (...) {
    ending_ = true;  // those that were started end before they are joined
    throw;
  }
}

CopyCrew::~CopyCrew() { ending_ = true; }

double CopyCrew::run(const std::function<void(std::size_t)>& part) {
  part_ = &part;
  num_done_.store(0, std::memory_order_relaxed);
  const auto start = Clock::now();
  round_.fetch_add(1, std::memory_order_release);
  part(0);
  wait_until([&] { return num_done_.load(std::memory_order_acquire) == helpers_.size(); });
  return seconds_since(start);
}

void CopyCrew::help(std::size_t index, const std::vector<int>& cpus) {
  if (!cpus.empty()) host::allow_cpus(cpus);
  std::uint64_t seen = 0;
  while (true) {
    wait_until([&] { return ending_ || round_.load(std::memory_order_acquire) != seen; });
    if (ending_) return;
    ++seen;
    (*part_)(index);
    num_done_.fetch_add(1, std::memory_order_release);
  }
}

}  // namespace isthmus::measure
