// Copies that continue while their caller does something else.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

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

}  // namespace isthmus::transfer
