// Copies that go on while their caller does something else.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace isthmus::transfer {

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

  /// Throws      Unavailable if the system has no thread for it, std::bad_alloc: the task is
  ///             dropped then, and will not run.
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
