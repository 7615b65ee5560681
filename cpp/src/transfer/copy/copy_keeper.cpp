#include "transfer/copy/copy_keeper.hpp"

#include <algorithm>
#include <utility>

#include <pthread.h>

#include "device/lasting.hpp"
#include "host/signal_block.hpp"
#include "transfer/copy/failed_copy.hpp"

namespace isthmus::transfer {
namespace {

// Between two looks while somebody waits for what they bring. Each pause adds a quarter, so that
// what is noticed is noticed late by a quarter of the copy's time at most.
constexpr std::chrono::microseconds kFirstPause{50};
constexpr std::chrono::microseconds kLongestPause{10'000};
// While nobody does: arrays of copies that are asked for are let go by those who ask.
constexpr std::chrono::seconds kIdlePause{1};

std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an unknown failure";
  }
}

}  // namespace

// --- one copy ------------------------------------------------------------------------------------

void KeptCopy::begun(CopyFuture copy) noexcept {
  copy_ = std::move(copy);
  state_.store(State::under_way, std::memory_order_release);
}

/// Lets go of what the copy needs if it has come to its end, and nobody else does.
///
/// Returns     ended()
bool KeptCopy::try_to_end() noexcept {
  State seen = state_.load(std::memory_order_acquire);
  if (seen != State::under_way) return seen == State::ended;
  try {
    if (!copy_.ready()) return false;
  } catch (const std::exception&) {
    return false;  // a parent process's: it never ends here
  }
  if (!state_.compare_exchange_strong(seen, State::ending, std::memory_order_acq_rel))
    return seen == State::ended;
  try {
    copy_.wait();
    needs_->follow_up();
  } catch (...) {
    failure_ = std::current_exception();
  }
  let_go(copy_.over());
  state_.store(State::ended, std::memory_order_release);
  return true;
}

void KeptCopy::let_go(bool is_at_rest) noexcept {
  if (is_at_rest) {
    needs_.reset();
  } else {
    keep_until_process_ends(std::move(needs_));
  }
}

void KeptCopy::rethrow() {
  told_.store(true, std::memory_order_relaxed);
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

bool KeptCopy::has_untold_failure() const noexcept {
  return failure_ != nullptr && !told_.load(std::memory_order_relaxed);
}

// --- all of them ---------------------------------------------------------------------------------

std::shared_ptr<KeptCopy> CopyKeeper::begin(std::unique_ptr<CopyNeeds> needs,
                                            const std::function<CopyFuture()>& begin) {
  auto copy = std::make_shared<KeptCopy>(std::move(needs));
  add(copy);  // all that needs memory comes before the copy begins
  try {
    copy->begun(begin());
  } catch (...) {
    forget(copy);
    copy->let_go(!leaves_memory_in_use(std::current_exception()));
    throw;
  }
  if (!ask(copy)) look_after(*copy);
  return copy;
}

void CopyKeeper::add(const std::shared_ptr<KeptCopy>& copy) {
  const Lock lock(mutex_);
  copy->place_ = copies_.insert(copies_.end(), copy);
  copy->listed_ = true;
}

void CopyKeeper::forget(const std::shared_ptr<KeptCopy>& copy) noexcept {
  const Lock lock(mutex_);
  if (!std::exchange(copy->listed_, false)) return;
  copies_.erase(copy->place_);
}

bool CopyKeeper::ask(const std::shared_ptr<KeptCopy>& copy) noexcept {
  if (copy->ended()) return true;
  if (!copy->has_follow_up_) return ask_waiting(copy);
  {
    const Lock lock(mutex_);
    if (running_) return false;  // the thread does what follows, and not who only asks
  }
  return ask_waiting(copy);
}

bool CopyKeeper::ask_waiting(const std::shared_ptr<KeptCopy>& copy) noexcept {
  if (!copy->try_to_end()) return false;
  settle(copy);
  return true;
}

/// Of a copy that has ended: it is listed as long as somebody may have to be told of its failure.
void CopyKeeper::settle(const std::shared_ptr<KeptCopy>& copy) noexcept {
  if (!copy->has_untold_failure()) return forget(copy);
  if (!copy->dropped_.load(std::memory_order_acquire)) return;
  forget(copy);
  if (copy->told_.exchange(true)) return;
  try {
    report_(text_of(copy->failure_));
  } catch (const std::exception&) {
    return;  // no memory to say it
  }
}

void CopyKeeper::drop(const std::shared_ptr<KeptCopy>& copy) noexcept {
  copy->dropped_.store(true, std::memory_order_release);
  if (copy->ended() && !copy->has_untold_failure()) return forget(copy);
  Lock lock(mutex_);
  wake(lock);
}

/// Sees to it that somebody looks whether a copy that has just begun has ended.
void CopyKeeper::look_after(const KeptCopy& copy) noexcept {
  Lock lock(mutex_);
  if (!running_ && !start()) {
    lock.unlock();
    return look();
  }
  if (idle_ || copy.has_follow_up_) wake(lock);
}

/// Returns     false if there is no thread to be had
bool CopyKeeper::start() noexcept {
  if (ending_) return false;
  try {
    const host::ScopedSignalBlock no_signals;
    thread_ = std::thread([this] { run(); });
  } catch (const std::exception&) {
    return false;
  }
  pause_ = kFirstPause;
  running_ = true;
  return true;
}

void CopyKeeper::wake(Lock& lock) noexcept {
  woken_ = true;
  pause_ = kFirstPause;
  lock.unlock();
  changed_.notify_all();
}

void CopyKeeper::run() noexcept {
  pthread_setname_np(pthread_self(), "isthmus-keeper");
  Lock lock(mutex_);
  for (;;) {
    lock.unlock();
    look();
    lock.lock();
    if (given_up_ || (ending_ && !any_under_way())) break;
    sleep(lock);
  }
  running_ = false;
  changed_.notify_all();
}

/// Looks at each copy once.
void CopyKeeper::look() noexcept {
  std::vector<std::shared_ptr<KeptCopy>> copies;
  try {
    const Lock lock(mutex_);
    copies.assign(copies_.begin(), copies_.end());
  } catch (const std::bad_alloc&) {
    return;  // the next time, then
  }
  for (const auto& copy : copies) {
    if (copy->try_to_end()) settle(copy);
  }
}

void CopyKeeper::sleep(Lock& lock) {
  const auto woken = [this] { return woken_; };
  const bool was_quiet = std::exchange(quiet_, !any_under_way());
  if (ending_ || any_urgent()) {
    changed_.wait_for(lock, pause_, woken);
    pause_ = std::min(pause_ * 5 / 4, kLongestPause);
  } else if (!quiet_ || !was_quiet) {
    changed_.wait_for(lock, kIdlePause, woken);
  } else {
    idle_ = true;
    changed_.wait(lock, woken);
    idle_ = false;
  }
  woken_ = false;
}

bool CopyKeeper::any_under_way() const noexcept {
  return std::ranges::any_of(copies_, [](const auto& copy) { return !copy->ended(); });
}

/// True if somebody waits for what only this brings.
bool CopyKeeper::any_urgent() const noexcept {
  return std::ranges::any_of(copies_, [](const auto& copy) {
    return copy->dropped_.load(std::memory_order_acquire) ||
           (copy->has_follow_up_ && !copy->ended());
  });
}

bool CopyKeeper::end(std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  Lock lock(mutex_);
  ending_ = woken_ = true;
  changed_.notify_all();
  changed_.wait_until(lock, deadline, [this] { return !running_; });
  if (running_) {
    // What these copies need is kept for ever; who would let it go may be gone.
    given_up_ = woken_ = true;
    changed_.notify_all();
    return false;
  }
  if (thread_.joinable()) thread_.join();
  while (any_under_way() && Clock::now() < deadline) {
    lock.unlock();
    look();
    std::this_thread::sleep_for(kLongestPause);
    lock.lock();
  }
  return !any_under_way();
}

}  // namespace isthmus::transfer
