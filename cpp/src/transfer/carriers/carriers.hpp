// Carries plans: each by the carrier of its path, counted, now or in the background.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "driver/driver.hpp"
#include "host/cpu/clock.hpp"
#include "transfer/carriers/carrier.hpp"
#include "transfer/request/copy_statistics.hpp"
#include "transfer/request/task.hpp"

namespace isthmus::transfer {

/// A copy to make once the earlier work of its stream is done.
struct BackgroundTask {
  std::function<bool()> may_begin;  ///< called repeatedly; must not throw
  std::function<void()> run;        ///< must not throw
};

/// One thread that runs tasks in the order in which they become ready: a task whose stream is busy
/// doesn't delay the others. The thread starts with the first task and sleeps while there are none.
class Background {
public:
  Background() = default;
  /// Runs the remaining tasks, then ends the thread.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Starts the thread, for tasks that mustn't fail for lack of it.
  ///
  /// Throws      Unavailable if the system has no thread for it, std::bad_alloc.
  void start();
  /// Throws      as start(): the task is dropped then and won't run.
  void post(BackgroundTask task);

private:
  void start_under_lock();
  void run();
  std::optional<BackgroundTask> take(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<BackgroundTask> tasks_;
  std::thread thread_;
  bool ending_ = false;
};

/// Knows when the last copy ended. After a pause the threads that help copies sleep, and caches are
/// cold: other paths are the cheapest then. May be used from any thread.
class CopyPauses {
public:
  /// Nanoseconds from an arbitrary start.
  using Clock = std::int64_t();

  /// least       a shorter time isn't a pause
  /// clock       replaces the system's, for tests
  explicit CopyPauses(std::chrono::nanoseconds least, Clock* clock = host::steady_ns)
      : min_ns_(least.count()), clock_(clock) {}

  std::int64_t now_ns() const noexcept { return clock_(); }
  void note_end(std::int64_t now_ns) noexcept {
    last_end_ns_.store(now_ns, std::memory_order_relaxed);
  }
  /// True also for the first copy. The time at which a copy begins may be before the last end: of a
  /// copy by another thread.
  bool is_after_pause(std::int64_t now_ns) const noexcept {
    const std::int64_t last_ns = last_end_ns_.load(std::memory_order_relaxed);
    return last_ns == kNoTime || now_ns - last_ns > min_ns_;
  }

private:
  const std::int64_t min_ns_;
  Clock* const clock_;
  std::atomic<std::int64_t> last_end_ns_{kNoTime};
};

/// All carriers, and the statistics of what they have carried. May be used from any thread. A
/// context of the plan's device must be current.
class Carriers {
public:
  /// min_pause  as CopyPauses takes it
  Carriers(const Driver& driver, std::chrono::nanoseconds min_pause,
           CopyPauses::Clock* clock = host::steady_ns);

  /// Makes the copy; complete on return.
  ///
  /// start_ns    when the call began, by pauses().now_ns(); kNoTime: now
  /// Throws      as Carrier::carry()
  void carry(const Plan& plan, const Request& request, std::int64_t start_ns = kNoTime);

  /// Whether a copy is timed that is made again by the calling thread: one in many, which stands for
  /// all.
  struct Timing {
    std::uint32_t stands_for = 0;     ///< copies; 0: it isn't timed
    bool next_is_timed = false;       ///< the next one's pause must be known
    std::int64_t start_ns = kNoTime;  ///< when the call began, if it is timed
  };
  Timing next_timing() const noexcept;
  /// Of a copy whose rhythm must be known: it is timed, and stands for itself.
  Timing timed_alone() const noexcept { return {1, false, pauses_.now_ns()}; }
  /// carry() for a plan of PlanCache.
  void carry_again(const Plan& plan, const Request& request, const Timing& timing);
  /// Starts the thread of the background if begin() needs it for such a copy. Call it for each of
  /// several copies before the first begins: then no missing thread ends the call halfway.
  ///
  /// Throws      as Background::start()
  void prepare_to_begin(const Plan& plan, const Request& request);
  /// Begins the copy, and returns as the request wants; a thread of the background makes it if its
  /// path can't begin it in stream order.
  ///
  /// Throws      as Carrier::begin()
  std::shared_ptr<PendingCopy> begin(const Plan& plan, const Request& request);
  /// Begins a copy whose call waits for it later, so that copies overlap.
  ///
  /// Returns     null, with nothing begun, if the copy can only be carried
  /// Throws      as Carrier::begin()
  std::shared_ptr<PendingCopy> begin_early(const Plan& plan, const Request& request);
  /// Lets the thread of the device's background make a copy whose call waits for it later, so that
  /// copies to several devices overlap that would keep the caller busy.
  ///
  /// Returns     null, with nothing begun, if there is no thread
  /// Throws      DriverError
  std::shared_ptr<PendingCopy> begin_beside(const Plan& plan, const Request& request);

  /// Makes short copies by a kernel, which are counted and timed as those of one plan.
  ///
  /// make        makes them; complete when it returns
  template <typename Make>
  void carry_short(std::size_t size_bytes, std::uint64_t num_copies, double predicted_seconds,
                   Make make) {
    const std::int64_t start_ns = pauses_.now_ns();
    statistics_.count(CopyPath::kernel, size_bytes, num_copies);
    try {
      make();
    } catch (...) {
      statistics_.count_back(CopyPath::kernel, size_bytes, num_copies);
      throw;
    }
    statistics_.time(CopyPath::kernel, end_copy(start_ns), predicted_seconds, 1);
  }

  const CopyStatistics& statistics() const noexcept { return statistics_; }
  const CopyPauses& pauses() const noexcept { return pauses_; }

  /// Makes the remaining copies of the background. Nothing may be begun afterwards.
  void end() noexcept { backgrounds_.clear(); }
  /// In a forked child: the threads of the background don't exist.
  void forget() noexcept;

private:
  void carry_counted(const Plan& plan, const Request& request);
  void carry_timed(const Plan& plan, const Request& request, std::uint32_t num_copies,
                   std::int64_t start_ns);
  double end_copy(std::int64_t start_ns);
  bool needs_background(const Plan& plan, const Request& request) const noexcept;
  std::shared_ptr<PendingCopy> carry_in_background(const Plan& plan, const Request& request);
  void count(const Plan& plan) noexcept {
    statistics_.count(plan.path, plan.ends.size_bytes, plan.num_copies());
  }
  Background& background_of(const Plan& plan) noexcept {
    return *backgrounds_[static_cast<std::size_t>(plan.device->context().device().ordinal)];
  }
  const Carrier& of(CopyPath path) const noexcept {
    return *carriers_[static_cast<std::size_t>(path)];
  }

  CopyStatistics statistics_;
  CopyPauses pauses_;
  WindowCarrier window_;
  DriverCarrier driver_;
  StagedCarrier staged_;
  RegisteredCarrier registered_;
  KernelCarrier kernel_;
  std::array<const Carrier*, kCountedPaths.size()> carriers_;  ///< in the order of kCountedPaths
  std::vector<std::unique_ptr<Background>> backgrounds_;       ///< one for each device
};

}  // namespace isthmus::transfer
