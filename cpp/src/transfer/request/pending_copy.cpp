#include "transfer/request/pending_copy.hpp"

#include <algorithm>
#include <utility>

#include <isthmus/errors.hpp>

#include "transfer/request/failed_copy.hpp"

namespace isthmus::transfer {
namespace {

constexpr const char* kThisCopy = "this copy of blocks";

}  // namespace

std::shared_ptr<PendingCopy> PendingCopy::complete() {
  auto pending = std::make_shared<PendingCopy>();
  pending->done_ = true;
  return pending;
}

/// The kernel of a copy that nobody has waited for may still write its report.
PendingCopy::~PendingCopy() {
  if (report_ == nullptr || over() || !end_) return;
  try {
    IndexReport::keep(std::move(report_), std::move(*end_));
  } catch (...) {  // NOLINT(bugprone-empty-catch): a later copy may get its word too early
  }
}

/// Waits for all, so that none is running when the first failure is thrown.
void PendingCopy::wait_for_parts() const {
  std::exception_ptr failure;
  for (const auto& part : parts_) {
    try {
      part->wait();
    } catch (...) {
      if (failure == nullptr) failure = std::current_exception();
    }
  }
  if (failure == nullptr) return;
  const bool over = std::ranges::all_of(parts_, [](const auto& part) { return part->over(); });
  try {
    std::rethrow_exception(failure);
  } catch (...) {
    if (!over) throw_of_memory_in_use();
    throw;
  }
}

void PendingCopy::require_own_process() const {
  isthmus::require_own_process(process_, "this copy");
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

bool PendingCopy::cancel() noexcept {
  if (!may_cancel_.exchange(false)) return false;
  finish(std::make_exception_ptr(CopyCancelled()));
  return true;
}

/// The last of several marks in one stream stands for all.
CUevent PendingCopy::event() {
  require_own_process();
  if (parts_.empty()) return end_ ? end_->handle() : nullptr;
  const PendingCopy* last = nullptr;
  for (const auto& part : parts_) {
    const bool marked = part->end_.has_value();
    if (!marked && part->ready()) continue;
    if (!marked || !part->parts_.empty()) return nullptr;
    if (last != nullptr && last->stream_ != part->stream_) return nullptr;
    last = part.get();
  }
  return last != nullptr && last->end_ ? last->end_->handle() : nullptr;
}

bool PendingCopy::ordered() {
  if (!parts_.empty())
    return std::ranges::all_of(parts_, [](const auto& part) { return part->ordered(); });
  return end_ || ready();
}

void PendingCopy::delay(CUstream stream) {
  require_own_process();
  for (const auto& part : parts_) part->delay(stream);
  if (!parts_.empty()) return;
  if (end_) return end_->delay(stream);
  if (ready()) return;
  throw Unavailable("waiting for this copy in a stream",
                    "a thread makes it, so no stream knows when it ends",
                    "result(), or pinned host memory");
}

void PendingCopy::wait() {
  require_own_process();
  if (!parts_.empty()) return wait_for_parts();
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

void PendingCopy::require_indices() {
  if (report_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (index_error_.empty()) index_error_ = report_->take(kThisCopy);
  if (!index_error_.empty()) throw UsageError(index_error_);
}

bool PendingCopy::has_index_error() noexcept {
  if (report_ == nullptr) return false;
  const std::lock_guard lock(mutex_);
  return !index_error_.empty() || report_->has_any();
}

std::string PendingCopy::index_error() {
  if (report_ == nullptr) return {};
  const std::lock_guard lock(mutex_);
  return index_error_.empty() ? report_->text(kThisCopy) : index_error_;
}

bool PendingCopy::ready() {
  require_own_process();
  if (!parts_.empty())
    return std::ranges::all_of(parts_, [](const auto& part) { return part->ready(); });
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
  if (process_ != process_generation()) return true;
  if (!parts_.empty())
    return std::ranges::all_of(parts_, [](const auto& part) { return part->over(); });
  const std::lock_guard lock(mutex_);
  if (end_) return (done_ && failure_ == nullptr) || end_->state() == Completion::State::reached;
  return done_ && (failure_ == nullptr || !leaves_memory_in_use(failure_));
}

}  // namespace isthmus::transfer
