#include "measure/bandwidth/copy_workers.hpp"

#include <string>

#include <isthmus/errors.hpp>

#include "host/cpu/cpu_list.hpp"
#include "host/cpu/topology.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

// The pauses take about 50 us, longer than the workers' start differs. After them a thread yields,
// since there may be more threads than cores. It never sleeps, since the wake-up would be measured.
constexpr host::SpinLimits kSpinLimits{2000, std::chrono::hours{24}};

std::size_t checked(int num_threads) {
  if (num_threads >= 1) return static_cast<std::size_t>(num_threads);
  throw UsageError("threads that copy: needs at least 1, got " + std::to_string(num_threads));
}

std::vector<int> usable_cpus(std::optional<int> node) {
  if (!node) return host::allowed_cpus();
  return host::ScopedThreadBinding(*node).cpus();
}

}  // namespace

CopyWorkers::CopyWorkers(int num_threads, std::optional<int> node) {
  const std::size_t wanted = checked(num_threads);
  const std::vector<int> cpus = usable_cpus(node);
  while (workers_.size() + 1 < wanted)
    workers_.push_back(std::make_unique<host::SpinningWorker<Part>>("isthmus-copy", cpus));
}

double CopyWorkers::run(const std::function<void(std::size_t)>& part) {
  part_ = &part;
  num_ready_.store(0, std::memory_order_relaxed);
  started_.store(false, std::memory_order_relaxed);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i]->post({this, i + 1});
    workers_[i]->wake();
  }
  host::wait_until([&] { return num_ready_.load(std::memory_order_acquire) == workers_.size(); },
                   kSpinLimits);
  const auto start = Clock::now();
  started_.store(true, std::memory_order_release);
  part(0);
  for (const auto& worker : workers_) worker->wait(kSpinLimits);
  return seconds_since(start);
}

void CopyWorkers::Part::operator()() const {
  all->num_ready_.fetch_add(1, std::memory_order_release);
  host::wait_until([this] { return all->started_.load(std::memory_order_acquire); }, kSpinLimits);
  (*all->part_)(index);
}

}  // namespace isthmus::measure
