// The times of a mapping's steps: each mapping measures its own, and a Windows has the sums.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <isthmus/window.hpp>

#include "window/backends/device_files.hpp"

namespace isthmus::window {

/// The members of WindowCosts, in order.
enum class Step : std::size_t { pin, map, unmap, unpin };
inline constexpr std::size_t kNumSteps = 4;

/// Sums over many mappings. May be used from any thread; every number only grows.
class StepTotals {
public:
  void add(Step step, std::uint64_t nanoseconds) noexcept;
  WindowCosts costs() const noexcept;

private:
  struct Total {
    std::atomic<std::uint64_t> count{0};
    std::atomic<std::uint64_t> nanoseconds{0};
  };
  WindowStep read(Step step) const noexcept;

  std::array<Total, kNumSteps> totals_;
};

/// The steps of one mapping. They are not counted before count_in(), so those of refused mappings
/// and of the self-test never are. Not thread-safe.
class MappingSteps {
public:
  /// files       their clock is read twice per step
  explicit MappingSteps(std::shared_ptr<const DeviceFiles> files) : files_(std::move(files)) {}

  /// Makes a step: runs `work` and returns its result.
  template <typename Work>
  auto time(Step step, Work work) {
    const Timer timer(*this, step);
    return work();
  }
  /// Adds the steps made so far to `totals`, and each later step when it is made.
  void count_in(std::shared_ptr<StepTotals> totals) noexcept;

private:
  class Timer {
  public:
    Timer(MappingSteps& steps, Step step)
        : steps_(steps), step_(step), begin_(steps.files_->nanoseconds()) {}
    ~Timer() { steps_.took(step_, steps_.files_->nanoseconds() - begin_); }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

  private:
    MappingSteps& steps_;
    Step step_;
    std::uint64_t begin_;
  };
  void took(Step step, std::uint64_t nanoseconds) noexcept;

  std::shared_ptr<const DeviceFiles> files_;
  std::array<std::optional<std::uint64_t>, kNumSteps> uncounted_ns_;
  std::shared_ptr<StepTotals> totals_;
};

}  // namespace isthmus::window
