#include "transfer/background.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <pthread.h>

#include <isthmus/errors.hpp>

#include "host/signal_block.hpp"

namespace isthmus::transfer {
namespace {

// Between two looks at whether a stream has come so far: the first is as short as a copy, the last
// costs no more than a per mille of a core.
constexpr std::chrono::microseconds kFirstPause{20};
constexpr std::chrono::microseconds kLongestPause{1000};

}  // namespace

void PendingCopy::require_own_process() const {
  if (process_ == window::process_generation()) return;
  throw UsageError("this copy belongs to the process that this one was forked from");
}

void PendingCopy::finish(std::exception_ptr with) noexcept {
  {
    const std::lock_guard lock(mutex);
    done = true;
    failure = std::move(with);
  }
  changed.notify_all();
}

void PendingCopy::wait() {
  require_own_process();
  if (event) {
    const CurrentContext current(event->context());
    return event->synchronize();
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return done; });
  if (failure) std::rethrow_exception(failure);
}

bool PendingCopy::ready() {
  require_own_process();
  if (event) {
    const CurrentContext current(event->context());
    return event->complete();
  }
  const std::lock_guard lock(mutex);
  return done;
}

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Background::post(BackgroundTask task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (!thread_.joinable()) {
      const host::ScopedSignalBlock no_signals;
      thread_ = std::thread([this] { run(); });
    }
  }
  changed_.notify_one();
}

/// The next task that may begin; nothing when there is none left and none to come.
std::optional<BackgroundTask> Background::take(std::unique_lock<std::mutex>& lock) {
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
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
    task.reset();  // with what it holds, before the lock is taken
    lock.lock();
  }
}

}  // namespace isthmus::transfer
