#include "transfer/copy/copy_keeper.hpp"

#include <algorithm>
#include <utility>

#include <pthread.h>

#include <isthmus/errors.hpp>

#include "device/cleanup.hpp"
#include "host/cpu/signal_block.hpp"
#include "transfer/request/failed_copy.hpp"
#include "transfer/request/pending_copy.hpp"

namespace isthmus::transfer {
namespace {

// Pauses between two checks while somebody waits for the result. Each pause is a quarter longer
// than the one before, so the end of a copy is noticed at most a quarter of its time too late.
constexpr std::chrono::microseconds kFirstPause{50};
constexpr std::chrono::microseconds kLongestPause{10'000};
// A dropped copy may keep its arrays this much longer: waking the thread takes as long as a launch.
constexpr std::chrono::microseconds kSoon{1'000};
// Who has dropped a copy mostly drops another: so many pauses of kSoon follow.
constexpr int kMorePauses = 20;

std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an unknown failure";
  }
}

[[noreturn]] void throw_unwatched(bool is_ending) {
  const std::string what = "telling when a copy has ended";
  if (is_ending)
    throw Unavailable(what, "the process is ending, and so has the thread for it",
                      "result(), which waits for the copy itself, or a call before the end");
  throw Unavailable(what, "the system has no thread for it",
                    "a higher limit of processes (ulimit -u, pids.max); result() needs none");
}

}  // namespace

// --- one copy ------------------------------------------------------------------------------------

CopyFuture KeptCopy::of_work(const Context& context, CUstream stream,
                             const std::function<void()>& enqueue) {
  auto pending = std::make_shared<PendingCopy>(context);
  enqueue();
  const CurrentContext current(context);
  try {
    pending->end_at(stream);
  } catch (...) {
    throw_once_idle(context.driver(), stream);
  }
  return CopyFuture(std::move(pending));
}

void KeptCopy::begun(CopyFuture copy) noexcept {
  copy_ = std::move(copy);
  state_.store(State::under_way, std::memory_order_release);
}

/// True if the copy has ended and no other thread does what follows: the caller must call end().
bool KeptCopy::may_end() noexcept {
  State seen = state_.load(std::memory_order_acquire);
  if (seen != State::under_way) return false;
  try {
    if (!copy_.ready()) return false;
  } catch (const std::exception&) {
    return false;  // the parent process's copy: it never ends here
  }
  return state_.compare_exchange_strong(seen, State::ending, std::memory_order_acq_rel);
}

/// If the copy has ended, destroys what it needs, unless another thread does.
///
/// Returns     ended()
bool KeptCopy::try_to_end() noexcept {
  if (!may_end()) return ended();
  end();
  return true;
}

/// Cancels the copy if it has not begun. The caller must call end() then.
bool KeptCopy::try_to_cancel() noexcept {
  State seen = State::under_way;
  if (!state_.compare_exchange_strong(seen, State::ending, std::memory_order_acq_rel)) return false;
  if (copy_.cancel()) return true;
  state_.store(State::under_way, std::memory_order_release);
  return false;
}

/// Called by the one thread that has set State::ending.
void KeptCopy::end() noexcept {
  try {
    copy_.pending_->wait();
    needs_->follow_up();
  } catch (const CopyCancelled&) {
    failure_ = std::current_exception();
    cancelled_ = true;
  } catch (...) {
    failure_ = std::current_exception();
  }
  let_go(copy_.over());
  state_.store(State::ended, std::memory_order_release);
}

void KeptCopy::let_go(bool is_idle) noexcept {
  if (is_idle) {
    needs_.reset();
  } else {
    keep_until_process_ends(std::move(needs_));
  }
}

void KeptCopy::rethrow() {
  told_.store(true, std::memory_order_relaxed);
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  copy_.pending_->require_indices();
}

bool KeptCopy::has_untold_failure() const noexcept {
  return !told_.load(std::memory_order_relaxed) &&
         (failure_ != nullptr || copy_.pending_->has_index_error());
}

std::string KeptCopy::failure_text() const {
  return failure_ != nullptr ? text_of(failure_) : copy_.pending_->index_error();
}

// --- all of them ---------------------------------------------------------------------------------

std::shared_ptr<KeptCopy> CopyKeeper::begin(std::unique_ptr<CopyNeeds> needs,
                                            const std::function<CopyFuture()>& begin) {
  auto copy = std::make_shared<KeptCopy>(std::move(needs));
  add(copy);  // everything that allocates memory comes before the copy begins
  try {
    copy->begun(begin());
  } catch (...) {
    forget(copy);
    copy->let_go(!leaves_memory_in_use(std::current_exception()));
    throw;
  }
  // A stream has hardly reached the end of what it was just given, and asking it takes a third as
  // long as beginning the copy.
  const bool in_stream = copy->copy().event() != 0;
  if (in_stream || !ask(copy)) look_after(*copy);
  return copy;
}

/// Once this is ending, only keeps it: end() would never return if a thread went on with copies.
void CopyKeeper::add(const std::shared_ptr<KeptCopy>& copy) {
  const Lock lock(mutex_);
  if (ending_) return keep_until_process_ends(std::make_unique<std::shared_ptr<KeptCopy>>(copy));
  copy->place_ = copies_.insert(copies_.end(), copy);
  copy->listed_ = true;
}

/// Also tells who watches it: whoever begins to watch later sees that the copy has ended.
void CopyKeeper::forget(const std::shared_ptr<KeptCopy>& copy) noexcept {
  {
    const Lock lock(mutex_);
    if (std::exchange(copy->listed_, false)) copies_.erase(copy->place_);
  }
  tell(copy);
}

bool CopyKeeper::ask(const std::shared_ptr<KeptCopy>& copy) noexcept {
  if (copy->ended()) return true;
  if (!copy->has_follow_up_) return ask_waiting(copy);
  {
    const Lock lock(mutex_);
    if (running_) return false;  // the thread runs the follow-up, not a caller that only asks
  }
  return ask_waiting(copy);
}

bool CopyKeeper::ask_waiting(const std::shared_ptr<KeptCopy>& copy) noexcept {
  if (!copy->try_to_end()) return false;
  settle(copy);
  return true;
}

/// Handles a copy that has ended: it stays listed while its failure may have to be reported.
void CopyKeeper::settle(const std::shared_ptr<KeptCopy>& copy) noexcept {
  if (!copy->has_untold_failure()) return forget(copy);
  tell(copy);
  if (!copy->dropped_.load(std::memory_order_acquire)) return;
  forget(copy);
  if (copy->told_.exchange(true)) return;
  try {
    report_(copy->failure_text());
  } catch (const std::exception&) {
    return;  // no memory for the message
  }
}

void CopyKeeper::drop(const std::shared_ptr<KeptCopy>& copy) noexcept {
  copy->dropped_.store(true, std::memory_order_release);
  if (copy->ended() && !copy->has_untold_failure()) return forget(copy);
  Lock lock(mutex_);
  if (!running_ || next_look_ > Clock::now() + kSoon) return wake(lock);
  pause_ = std::min(pause_, kSoon);
}

bool CopyKeeper::cancel(const std::shared_ptr<KeptCopy>& copy) noexcept {
  if (!copy->try_to_cancel()) return false;
  copy->told_.store(true);
  // Taken before any other thread sees that the copy has ended: that thread would call it.
  const KeptCopy::Told told = take_told(copy);
  copy->end();
  settle(copy);
  if (told) told();
  return true;
}

void CopyKeeper::watch(const std::shared_ptr<KeptCopy>& copy, std::function<void()> told) {
  {
    Lock lock(mutex_);
    // `told` is still the parameter, which is destroyed without the lock: its destructor may wait
    // for another thread that wants the lock.
    if (!copy->ended() && !running_ && !start()) throw_unwatched(ending_);
    copy->on_end_ = std::move(told);
    copy->watched_.store(true);
    wake(lock);
  }
  if (copy->ended()) tell(copy);
}

void CopyKeeper::tell(const std::shared_ptr<KeptCopy>& copy) noexcept {
  if (const KeptCopy::Told told = take_told(copy)) told();
}

/// Of all threads that notice the end one takes the function.
KeptCopy::Told CopyKeeper::take_told(const std::shared_ptr<KeptCopy>& copy) noexcept {
  const Lock lock(mutex_);
  return std::exchange(copy->on_end_, nullptr);
}

/// Makes sure that somebody checks whether a new copy has ended.
void CopyKeeper::look_after(const KeptCopy& copy) noexcept {
  Lock lock(mutex_);
  if (!running_ && !start()) {
    lock.unlock();
    return look();
  }
  if (idle_ || copy.has_follow_up_) wake(lock);
}

/// Returns     false if the system has no thread
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

/// Checks each copy once.
void CopyKeeper::look() noexcept {
  std::vector<std::shared_ptr<KeptCopy>> copies;
  try {
    const Lock lock(mutex_);
    copies.assign(copies_.begin(), copies_.end());
  } catch (const std::bad_alloc&) {
    return;  // try again next time
  }
  const auto over =
      std::ranges::partition(copies, [](const auto& copy) { return !copy->may_end(); });
  if (!over.empty())
    together_([&] {
      for (const auto& copy : over) copy->end();
    });
  // Also those that ended before: their failures may have to be reported.
  for (const auto& copy : copies)
    if (copy->ended()) settle(copy);
}

void CopyKeeper::sleep(Lock& lock) {
  const auto woken = [this] { return woken_; };
  const bool was_quiet = std::exchange(quiet_, !any_under_way());
  const bool urgent = ending_ || any_urgent();
  if (urgent || more_pauses_ != 0) {
    more_pauses_ = urgent ? kMorePauses : more_pauses_ - 1;
    const auto pause = urgent ? pause_ : kSoon;
    next_look_ = Clock::now() + pause;
    changed_.wait_for(lock, pause, woken);
    if (urgent) pause_ = std::min(pause_ * 5 / 4, kLongestPause);
  } else if (!quiet_ || !was_quiet) {
    // The pause while nobody waits: those who ask for a copy also release its arrays.
    next_look_ = Clock::time_point::max();
    changed_.wait_for(lock, std::chrono::seconds{1}, woken);
  } else {
    idle_ = true;
    next_look_ = Clock::time_point::max();
    changed_.wait(lock, woken);
    idle_ = false;
  }
  woken_ = false;
  next_look_ = {};
}

bool CopyKeeper::any_under_way() const noexcept {
  return std::ranges::any_of(copies_, [](const auto& copy) { return !copy->ended(); });
}

/// True if somebody waits for something that only this thread does.
bool CopyKeeper::any_urgent() const noexcept {
  return std::ranges::any_of(copies_, [](const auto& copy) {
    return copy->dropped_.load(std::memory_order_acquire) ||
           ((copy->has_follow_up_ || copy->watched_.load()) && !copy->ended());
  });
}

bool CopyKeeper::end(std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  Lock lock(mutex_);
  ending_ = woken_ = true;
  changed_.notify_all();
  changed_.wait_until(lock, deadline, [this] { return !running_; });
  if (running_) {
    // The needs of these copies are never destroyed; whoever would do it may be gone.
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
