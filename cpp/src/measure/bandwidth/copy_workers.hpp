// Threads that begin together, for copies whose time must not include starting a thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "host/cpu/spinning_worker.hpp"

namespace isthmus::measure {

/// The caller's thread and workers. The workers end with this object.
class CopyWorkers {
public:
  /// num_threads  at least 1, the caller's included
  /// node         whose CPUs the workers run on; empty: the CPUs that the caller may run on
  /// Throws       UsageError if there is no such node; std::system_error if a thread can't be
  ///              started.
  CopyWorkers(int num_threads, std::optional<int> node);

  std::size_t num_threads() const noexcept { return workers_.size() + 1; }

  /// Runs `part(i)` for each i below num_threads(), each on its own thread, and waits for all. No
  /// part begins before all threads are awake. `part` must not throw.
  ///
  /// Returns     seconds from the common start until the last thread ends
  double run(const std::function<void(std::size_t)>& part);

private:
  /// One worker's part of a run.
  struct Part {
    CopyWorkers* all = nullptr;
    std::size_t index = 0;

    void operator()() const;
  };

  const std::function<void(std::size_t)>* part_ = nullptr;
  alignas(host::kApartBytes) std::atomic<std::size_t> num_ready_{0};
  alignas(host::kApartBytes) std::atomic<bool> started_{false};
  std::vector<std::unique_ptr<host::SpinningWorker<Part>>> workers_;
};

}  // namespace isthmus::measure
