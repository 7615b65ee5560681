// Copies within host memory, by threads that begin together: the upper limit for all staged copies.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "host/cpu/spinning_worker.hpp"
#include "measure/loops/sampling.hpp"

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

/// How a core stores what it copies.
enum class HostStores {
  libc,       ///< one std::memcpy, which bypasses the caches when it is large
  cached,     ///< std::memcpy of 64 KiB at a time, so that it never does that
  streaming,  ///< bypasses the caches with the best available instructions
};
constexpr auto words_of(HostStores) { return std::array{"libc", "cached", "streaming"}; }

/// Copies [source, source + size_bytes) to `target`; complete when it returns.
using HostCopy = void (*)(std::byte* target, const std::byte* source, std::size_t size_bytes);

struct HostMemcpyOptions {
  std::size_t size_bytes = 0;
  int num_threads = 1;             ///< that share one copy; at most one a page
  std::optional<int> source_node;  ///< the node of the pages read, and of the threads
  std::optional<int> target_node;  ///< the node of the pages written
  HostStores stores = HostStores::libc;
  HostCopy copy = nullptr;  ///< instead of the one for `stores`
  Stopping stopping;
};

/// Measures copies from one host buffer to another. Yields one metric, "copy_time": seconds for one
/// copy, by the CPU's clock, of copies back to back that take 1 ms, or 20 ms with several threads.
/// The threads begin together; the time ends when the last has finished. The caches are warm: data
/// that fits is in them.
///
/// Throws      UsageError (sizes, threads, nodes), CorruptTransfer, std::system_error.
Measurement measure_host_memcpy(const HostMemcpyOptions& options);

}  // namespace isthmus::measure
