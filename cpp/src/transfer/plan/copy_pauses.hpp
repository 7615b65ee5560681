// Whether a copy comes after a pause.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "host/cpu/clock.hpp"
#include "transfer/request/task.hpp"

namespace isthmus::transfer {

/// Knows when the last copy ended. After a pause the threads that help copies sleep, and caches are
/// cold: other paths are the cheapest then. May be used from any thread.
class CopyPauses {
public:
  /// Nanoseconds from an arbitrary start.
  using Clock = std::int64_t();

  /// least       a shorter time isn't a pause
  /// clock       replaces the system's, for tests
  explicit CopyPauses(std::chrono::nanoseconds least, Clock* clock = host::steady_ns)
      : least_ns_(least.count()), clock_(clock) {}

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

private:
  const std::int64_t least_ns_;
  Clock* const clock_;
  std::atomic<std::int64_t> last_end_ns_{kNoTime};
};

}  // namespace isthmus::transfer
