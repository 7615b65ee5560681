// Whether a copy comes after a pause.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "host/cpu/clock.hpp"
#include "transfer/copy/task.hpp"

namespace isthmus::transfer {

/// Knows when the last copy ended. After a pause the threads that help copies sleep, and caches are
/// cold: other paths are the cheapest then. May be used from any thread. Lies in one cache line, since
/// after a pause each that is read costs time.
class alignas(32) CopyPauses {
public:
  /// Nanoseconds from an arbitrary start.
  using Clock = std::int64_t();

  /// least       a shorter time isn't a pause
  /// clock       replaces the system's, for tests
  explicit CopyPauses(std::chrono::nanoseconds least, Clock* clock = host::steady_ns)
      : least_ns_(least.count()),
        least_ticks_(
            static_cast<std::uint64_t>(static_cast<double>(least_ns_) * host::ticks_per_ns())),
        clock_(clock) {}

  std::int64_t now_ns() const noexcept { return clock_(); }
  void note_end(std::int64_t now_ns) noexcept {
    last_end_ns_.store(now_ns, std::memory_order_relaxed);
  }
  /// True also for the first copy. The time at which a copy begins may be before the last end: of a
  /// copy by another thread.
  bool is_after_pause(std::int64_t now_ns) const noexcept {
    const std::int64_t last_ns = last_end_ns_.load(std::memory_order_relaxed);
    return last_ns == kNoTime || now_ns - last_ns > least_ns_;
  }

  /// True if a thread whose last call began at `former` and whose next one begins at `now`, by
  /// host::ticks(), may have paused. It hasn't if the former copy itself took that long. For calls
  /// that are too short to read the clock.
  bool may_be_after_pause(std::uint64_t former, std::uint64_t now) const noexcept {
    return now - former > least_ticks_;
  }

private:
  const std::int64_t least_ns_;
  const std::uint64_t least_ticks_;
  Clock* const clock_;
  std::atomic<std::int64_t> last_end_ns_{kNoTime};
};

}  // namespace isthmus::transfer
