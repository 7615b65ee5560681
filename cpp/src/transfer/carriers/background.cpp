#include "transfer/carriers/background.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include <pthread.h>

#include <isthmus/errors.hpp>

#include "host/cpu/signal_block.hpp"

namespace isthmus::transfer {
namespace {

template <typename Run>
std::thread started_thread(Run run) {
  const host::ScopedSignalBlock no_signals;
  try {
    return std::thread(std::move(run));
  } catch (const std::system_error& error) {
    throw Unavailable("a thread for copies that go on in the background",
                      "the system refuses one: " + error.code().message(),
                      "a higher limit of processes (ulimit -u, pids.max) or of memory; a copy that "
                      "blocks needs no thread");
  }
}

}  // namespace

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Background::start() {
  const std::lock_guard lock(mutex_);
  start_under_lock();
}

void Background::start_under_lock() {
  if (!thread_.joinable()) thread_ = started_thread([this] { run(); });
}

void Background::post(BackgroundTask task) {
  {
    const std::lock_guard lock(mutex_);
    // Start the thread first: if that fails, the task must not stay in the queue for another task's
    // thread.
    start_under_lock();
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

/// The next task that may begin; nothing if none is left and the thread is ending. Asks whether
/// streams have reached their places after pauses: the first is as short as a copy, and the longest
/// costs at most a thousandth of a core.
std::optional<BackgroundTask> Background::take(std::unique_lock<std::mutex>& lock) {
  for (std::chrono::microseconds pause(20);;
       pause = std::min(2 * pause, std::chrono::microseconds(1000))) {
    changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
    if (tasks_.empty()) return std::nullopt;
    const auto next = std::find_if(tasks_.begin(), tasks_.end(),
                                   [](const BackgroundTask& task) { return task.may_begin(); });
    if (next != tasks_.end()) {
      BackgroundTask task = std::move(*next);
      tasks_.erase(next);
      return task;
    }
    const std::size_t num_tasks = tasks_.size();
    changed_.wait_for(lock, pause, [&] { return tasks_.size() != num_tasks; });
  }
}

void Background::run() {
  pthread_setname_np(pthread_self(), "isthmus-async");
  std::unique_lock lock(mutex_);
  while (std::optional<BackgroundTask> task = take(lock)) {
    lock.unlock();
    task->run();
    task.reset();  // destroyed with everything it holds before the lock is taken
    lock.lock();
  }
}

}  // namespace isthmus::transfer
