// Keeps what running copies need until nothing uses it any more.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <isthmus/transfer.hpp>

#include "device/context.hpp"
#include "driver/forks.hpp"

namespace isthmus::transfer {

/// What one copy needs. Destroyed once nothing uses the memory of its ends any more, by the first
/// thread that notices; never, if that can't be known.
class CopyNeeds {
public:
  CopyNeeds() = default;
  CopyNeeds(const CopyNeeds&) = delete;
  CopyNeeds& operator=(const CopyNeeds&) = delete;
  virtual ~CopyNeeds() = default;

  /// True if work remains once the bytes have arrived.
  virtual bool has_follow_up() const noexcept { return false; }
  /// Does that work. If it throws, the copy fails with that exception.
  virtual void follow_up() {}
};

/// A copy, what it needs, and its result. May be used from any thread.
class KeptCopy {
public:
  explicit KeptCopy(std::unique_ptr<CopyNeeds> needs)
      : needs_(std::move(needs)), has_follow_up_(needs_->has_follow_up()) {}
  KeptCopy(const KeptCopy&) = delete;
  KeptCopy& operator=(const KeptCopy&) = delete;

  /// Other work than a copy, so that a keeper keeps what it needs.
  ///
  /// enqueue     puts it into the stream, which isn't captured
  /// Throws      what enqueue() throws; DriverError: it has ended, or memory_in_use()
  static CopyFuture of_work(const Context& context, CUstream stream,
                            const std::function<void()>& enqueue);

  /// True once the copy is complete, including its follow-up, or has failed. Then its needs have
  /// been destroyed, unless it is unknown whether they are still in use.
  bool ended() const noexcept { return state_.load(std::memory_order_acquire) == State::ended; }
  /// Throws the copy's error, which then counts as reported. Call after ended().
  void rethrow();
  /// True if it has ended because it was taken back before it began.
  bool cancelled() const noexcept { return ended() && cancelled_; }
  /// The copy, for what doesn't end it. Call after CopyKeeper::begin().
  const CopyFuture& copy() const noexcept { return copy_; }

private:
  friend class CopyKeeper;
  enum class State { not_begun, under_way, ending, ended };

  using Told = std::function<void()>;

  void begun(CopyFuture copy) noexcept;
  bool may_end() noexcept;
  bool try_to_end() noexcept;
  bool try_to_cancel() noexcept;
  void end() noexcept;
  void let_go(bool is_idle) noexcept;
  bool has_untold_failure() const noexcept;
  std::string failure_text() const;

  CopyFuture copy_;
  std::unique_ptr<CopyNeeds> needs_;
  const bool has_follow_up_;
  std::atomic<State> state_{State::not_begun};
  std::exception_ptr failure_;  // written before State::ended, like the next
  bool cancelled_ = false;
  std::atomic<bool> told_{false};
  std::atomic<bool> dropped_{false};
  std::atomic<bool> watched_{false};
  // Used by the keeper, under its lock.
  bool listed_ = false;
  Told on_end_;
  std::list<std::shared_ptr<KeptCopy>>::iterator place_;
};

/// Keeps copies until they have ended, whether anybody asks for them or not; a thread checks them
/// now and then. If the system has no thread, the check happens when somebody asks for a copy or
/// begins the next.
///
/// May be used from any thread of the process that made it, but not in a child process.
class CopyKeeper {
public:
  using Report = std::function<void(const std::string&)>;

  using Together = std::function<void(const std::function<void()>&)>;

  /// report      called from any thread with the error of a dropped copy, if it wasn't reported to
  ///             anybody
  /// together    calls what it is given, which destroys the needs of several copies; may hold a lock
  ///             meanwhile that each of them would take
  explicit CopyKeeper(
      Report report, Together together = [](const auto& call) { call(); })
      : report_(std::move(report)), together_(std::move(together)) {}
  CopyKeeper(const CopyKeeper&) = delete;
  CopyKeeper& operator=(const CopyKeeper&) = delete;
  /// Only after end() has returned true.
  ~CopyKeeper() = default;

  /// Begins a copy and keeps what it needs.
  ///
  /// begin       begins it
  /// Throws      what begin() throws, std::bad_alloc: then no part of the copy is running, or the
  ///             needs are kept until the process ends.
  std::shared_ptr<KeptCopy> begin(std::unique_ptr<CopyNeeds> needs,
                                  const std::function<CopyFuture()>& begin);
  /// Returns whether a copy has ended.
  bool ask(const std::shared_ptr<KeptCopy>& copy) noexcept;
  /// The same for a caller that waits and may therefore run the follow-up.
  bool ask_waiting(const std::shared_ptr<KeptCopy>& copy) noexcept;
  /// Takes back a copy that hasn't begun. Who watches it has been told before this returns.
  ///
  /// Returns     false if it has begun: it goes on. False, too, if another thread has just cancelled
  ///             it.
  bool cancel(const std::shared_ptr<KeptCopy>& copy) noexcept;
  /// Calls `told` once when the copy has ended: now, or by the thread that notices. At most one for
  /// each copy.
  ///
  /// told        must not throw; never destroyed under a lock
  /// Throws      Unavailable if nobody would notice, because the system has no thread or end() was
  ///             called.
  void watch(const std::shared_ptr<KeptCopy>& copy, std::function<void()> told);
  /// Nobody will ask for this copy any more. Frees nothing, and runs no follow-up.
  void drop(const std::shared_ptr<KeptCopy>& copy) noexcept;

  /// Waits for the kept copies, and ends the thread. Copies begun later are kept for ever.
  ///
  /// Returns     false if `timeout` ran out first: then this object must never be destroyed
  bool end(std::chrono::milliseconds timeout);

  bool in_own_process() const noexcept { return process_ == process_generation(); }
  /// Throws UsageError unless in_own_process().
  void require_own_process() const { isthmus::require_own_process(process_, "this copy"); }

private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  void add(const std::shared_ptr<KeptCopy>& copy);
  void forget(const std::shared_ptr<KeptCopy>& copy) noexcept;
  void settle(const std::shared_ptr<KeptCopy>& copy) noexcept;
  void tell(const std::shared_ptr<KeptCopy>& copy) noexcept;
  KeptCopy::Told take_told(const std::shared_ptr<KeptCopy>& copy) noexcept;
  void look_after(const KeptCopy& copy) noexcept;
  bool start() noexcept;
  void wake(Lock& lock) noexcept;
  void run() noexcept;
  void look() noexcept;
  void sleep(Lock& lock);
  bool any_under_way() const noexcept;
  bool any_urgent() const noexcept;

  const std::uint64_t process_ = process_generation();
  const Report report_;
  const Together together_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::shared_ptr<KeptCopy>> copies_;
  std::thread thread_;
  std::chrono::microseconds pause_{};
  int more_pauses_ = 0;          ///< that follow the last urgent one
  Clock::time_point next_look_;  ///< while the thread sleeps; the past while it looks
  bool running_ = false;
  bool quiet_ = false;  ///< nothing was under way when the thread last went to sleep
  bool idle_ = false;   ///< the thread sleeps until it is woken
  bool woken_ = false;
  bool ending_ = false;
  bool given_up_ = false;  ///< the thread checks nothing any more
};

}  // namespace isthmus::transfer
