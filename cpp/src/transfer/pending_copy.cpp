#include "transfer/pending_copy.hpp"

#include <utility>

#include <isthmus/errors.hpp>

namespace isthmus::transfer {

bool leaves_memory_in_use(const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const DriverError& error) {
    return error.memory_in_use();
  } catch (...) {
    return false;
  }
}

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
  if (end_) return wait_for_end();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_; });
  if (failure_) std::rethrow_exception(failure_);
}

void PendingCopy::wait_for_end() const {
  try {
    end_->wait();
  } catch (const DriverError& error) {
    if (end_->state() == Completion::State::reached) throw;
    error.throw_of_memory_in_use();
  }
}

bool PendingCopy::ready() {
  require_own_process();
  if (end_) return end_->state() != Completion::State::under_way;
  const std::lock_guard lock(mutex_);
  return done_;
}

bool PendingCopy::over() noexcept {
  // The parent's copies never touch a child's memory.
  if (process_ != window::process_generation()) return true;
  if (end_) return end_->state() == Completion::State::reached;
  const std::lock_guard lock(mutex_);
  return done_ && (failure_ == nullptr || !leaves_memory_in_use(failure_));
}

}  // namespace isthmus::transfer
