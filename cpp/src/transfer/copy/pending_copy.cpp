#include "transfer/copy/pending_copy.hpp"

#include <utility>

#include <isthmus/errors.hpp>

#include "transfer/copy/failed_copy.hpp"

namespace isthmus::transfer {

std::shared_ptr<PendingCopy> PendingCopy::complete() {
  auto pending = std::make_shared<PendingCopy>();
  pending->done_ = true;
  return pending;
}

void PendingCopy::require_own_process() const {
  if (process_ == window::process_generation()) return;
  throw UsageError("this copy belongs to the process that this one was forked from");
}

void PendingCopy::finish(std::exception_ptr failure) noexcept {
  {
    const std::lock_guard lock(mutex_);
    end_.reset();
    done_ = true;
    failure_ = std::move(failure);
  }
  changed_.notify_all();
}

void PendingCopy::wait() {
  require_own_process();
  std::unique_lock lock(mutex_);
  if (!done_ && end_) {
    lock.unlock();
    return wait_for(*end_);
  }
  changed_.wait(lock, [this] { return done_; });
  if (failure_) std::rethrow_exception(failure_);
}

void PendingCopy::wait_for(const Completion& end) {
  try {
    end.wait();
  } catch (const DriverError&) {
    if (end.state() == Completion::State::reached) throw;
    throw_of_memory_in_use();
  }
}

bool PendingCopy::ready() {
  require_own_process();
  const std::lock_guard lock(mutex_);
  if (!done_ && end_) look_at(*end_);
  return done_;
}

/// The first answer is final, so that a caller who was told that the copy has ended never has to
/// wait: the driver may fail once and then say that the copy is still running.
void PendingCopy::look_at(const Completion& end) {
  try {
    done_ = end.reached();
  } catch (const DriverError&) {
    try {
      throw_of_memory_in_use();
    } catch (...) {
      failure_ = std::current_exception();
    }
    done_ = true;
  }
}

bool PendingCopy::over() noexcept {
  // The parent's copies never access a child's memory.
  if (process_ != window::process_generation()) return true;
  const std::lock_guard lock(mutex_);
  if (end_) return (done_ && failure_ == nullptr) || end_->state() == Completion::State::reached;
  return done_ && (failure_ == nullptr || !leaves_memory_in_use(failure_));
}

}  // namespace isthmus::transfer
