// Copies that go on while their caller does something else.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "device/stream.hpp"
#include "window/forks.hpp"

namespace isthmus::transfer {

/// What a CopyFuture waits for: an event of the driver's, or a copy of the background thread. In a
/// forked child wait() and ready() throw UsageError.
struct PendingCopy {
  std::optional<Event> event;  ///< if there is one, the copy is complete when it is
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::exception_ptr failure;

  void finish(std::exception_ptr with) noexcept;
  /// Throws what the copy failed with.
  void wait();
  bool ready();

private:
  void require_own_process() const;
  const std::uint64_t process_ = window::process_generation();
};

/// A copy to be made, once what its stream had before is done.
struct BackgroundTask {
  std::function<bool()> may_begin;  ///< asked now and then; must not throw
  std::function<void()> run;        ///< must not throw
};

/// One thread that runs tasks, in the order in which they may begin: one whose stream is busy holds
/// up no other. Started with the first, asleep without any.
class Background {
public:
  Background() = default;
  /// Runs what is left, then ends.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void post(BackgroundTask task);

private:
  void run();
  std::optional<BackgroundTask> take(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<BackgroundTask> tasks_;
  std::thread thread_;
  bool ending_ = false;
};

}  // namespace isthmus::transfer
