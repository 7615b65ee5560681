// Threads that begin together: for copies whose time must not contain the start of a thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

namespace isthmus::measure {

/// The caller and helpers. Helpers wait spinning, giving way to other threads: a crew is for short
/// use. Joins them when it goes.
class CopyCrew {
public:
  /// num_threads  at least 1, the caller's included
  /// node         whose CPUs the helpers run on; empty: where the caller may
  /// Throws       UsageError if there is no such node; std::system_error if a thread can't be
  ///              started.
  CopyCrew(int num_threads, std::optional<int> node);
  ~CopyCrew();
  CopyCrew(const CopyCrew&) = delete;
  CopyCrew& operator=(const CopyCrew&) = delete;

  std::size_t num_threads() const noexcept { return helpers_.size() + 1; }

  /// Runs `part(i)` for each i below num_threads(), each on its thread, at once; waits for all.
  /// `part` doesn't throw.
  ///
  /// Returns     seconds from the common start to the last one's end
  double run(const std::function<void(std::size_t)>& part);

private:
  void help(std::size_t index, const std::vector<int>& cpus);

  const std::function<void(std::size_t)>* part_ = nullptr;
  alignas(128) std::atomic<std::uint64_t> round_{0};
  alignas(128) std::atomic<std::size_t> num_done_{0};
  alignas(128) std::atomic<bool> ending_{false};
  std::vector<std::jthread> helpers_;
};

}  // namespace isthmus::measure
