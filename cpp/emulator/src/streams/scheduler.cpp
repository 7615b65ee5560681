// How callers wait for operations (they do the work themselves, spin, or sleep), operations that
// wait for a value in memory (polled: there is no notification), and the engines' threads.
#include "streams/scheduler.hpp"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>

#include "api/cuda_api.hpp"
#include "machine/machine.hpp"

namespace isthmus::emulator {

/// Starts a thread that lives as long as the process.
///
/// It blocks all signals (Ctrl-C belongs to the program's own threads), and its sleeps end on time.
///
/// name        at most 15 characters
/// Returns     false if the system refuses a thread
[[nodiscard]] bool start_engine_thread(const char* name, std::function<void()> life);

namespace {

constexpr unsigned long kTimerSlackNs = 1;  // the default of 50 us would blur every deadline

}  // namespace

bool start_engine_thread(const char* name, std::function<void()> life) {
  sigset_t every_signal;
  sigset_t callers_signals;
  sigfillset(&every_signal);
  pthread_sigmask(SIG_SETMASK, &every_signal, &callers_signals);
  bool started = true;
  try {
    std::thread([name, life = std::move(life)] {
      prctl(PR_SET_TIMERSLACK, kTimerSlackNs);
      pthread_setname_np(pthread_self(), name);
      life();
    }).detach();
  } catch (const std::exception&) {  // of the system, or no memory
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &callers_signals, nullptr);
  return started;
}

/// The main loop of a lane's thread.
class LaneThread {
public:
  LaneThread(Lane& lane, Scheduler& scheduler) : lane_(lane), scheduler_(scheduler) {}

  void operator()() {
    Lock lock = scheduler_.lock();
    --lane_.num_idle_;
    for (;;) {
      if (!lane_.has_work()) await_work(lock);
      if (lane_.has_work()) scheduler_.run(lock, lane_.take());
    }
  }

private:
  /// Spins briefly, so that the thread is awake for a caller in a loop; then sleeps.
  void await_work(Lock& lock) {
    ++lane_.num_idle_;
    lane_.has_work_hint_ = false;
    lock.unlock();
    spin_until([&] { return lane_.has_work_hint_.load(std::memory_order_relaxed); }, kSpin);
    acquire(lock);
    lane_.work_came_.wait(lock, [&] { return lane_.has_work(); });
    --lane_.num_idle_;
  }

  Lane& lane_;
  Scheduler& scheduler_;
};

OperationPtr Lane::take() {
  OperationPtr next = std::move(ready_.front());
  ready_.pop_front();
  ++num_running_;
  return next;
}

OperationPtr Lane::take_for(const Stream* stream) {
  const bool can_help = kind_.callers_may_help && has_work() && ready_.front()->stream == stream;
  return can_help ? take() : nullptr;
}

void Lane::release(Time end) {
  --num_running_;
  free_at_ = std::max(free_at_, end);
}

Time Lane::start_of(Time ready) const {
  return kind_.num_slots == 1 ? std::max(ready, free_at_) : ready;
}

bool Lane::start_thread(Scheduler& scheduler) {
  if (!start_engine_thread(kind_.thread_name, LaneThread(*this, scheduler))) return false;
  ++num_threads_;
  ++num_idle_;
  return true;
}

void Lane::require_thread(Scheduler& scheduler) {
  require(num_threads_ > 0 || start_thread(scheduler), CUDA_ERROR_OPERATING_SYSTEM);
}

void Lane::wake(Scheduler& scheduler) {
  has_work_hint_ = true;
  // An idle thread may already be about to take earlier work, so each operation needs its own.
  const bool needs_thread = ready_.size() > num_idle_ && num_threads_ < kind_.num_slots;
  if (!needs_thread || !start_thread(scheduler)) work_came_.notify_one();
}

namespace {

constexpr unsigned kTurnsBeforeSleep = 200;

}  // namespace

void acquire(Lock& lock) {
  for (unsigned turn = 0; turn < kTurnsBeforeSleep; ++turn) {
    if (lock.try_lock()) return;
    spin_once();
  }
  lock.lock();
}

void Scheduler::submit(Lock& lock, const OperationPtr& operation,
                       const std::vector<OperationPtr>& after, Worker worker) {
  (void)lock;
  // Now, because an engine's thread that starts the work later has nobody to tell.
  if (operation->satisfied) require_poller();
  if (operation->lane != nullptr && worker == Worker::engine)
    operation->lane->require_thread(*this);
  operation->ready_at = Clock::now();
  for (const OperationPtr& earlier : after) {
    if (earlier == nullptr) continue;
    if (earlier->done) {
      operation->ready_at = std::max(operation->ready_at, earlier->finished_at);
    } else {
      earlier->dependents.push_back(operation);
      ++operation->num_unfinished;
    }
  }
  if (operation->num_unfinished > 0) return;
  std::vector<OperationPtr> finished;
  start(operation, worker, finished);
  for (const OperationPtr& each : finished) finish(each, each->ready_at);
}

/// Passes an operation that no longer waits to the thread that executes it.
void Scheduler::start(const OperationPtr& operation, Worker worker,
                      std::vector<OperationPtr>& finished) {
  if (operation->satisfied) {
    watch(operation);
  } else if (operation->lane == nullptr) {
    finished.push_back(operation);
  } else {
    Lane& lane = *operation->lane;
    if (std::ranges::find(lanes_, &lane) == lanes_.end()) lanes_.push_back(&lane);
    lane.push(operation);
    if (lane.has_room() && worker == Worker::engine) lane.wake(*this);
    note_progress();
  }
}

void Scheduler::run(Lock& lock, const OperationPtr& operation) {
  Lane& lane = *operation->lane;
  const Time begin = lane.start_of(operation->ready_at);
  operation->expected_end = begin + operation->expected;
  lock.unlock();
  count_modelled(operation->expected);
  const Time end = operation->work(begin);
  operation->work = nullptr;  // frees its staging memory before anyone sees that it is done
  acquire(lock);
  lane.release(end);
  finish(operation, end);
  if (lane.has_work()) lane.wake(*this);
}

/// Ends an operation, and all operations without work that waited only for it. Uses a list instead
/// of recursion: a thousand events may depend on one copy.
void Scheduler::finish(const OperationPtr& operation, Time end) {
  operation->ready_at = end;
  std::vector<OperationPtr> finished{operation};
  while (!finished.empty()) {
    const OperationPtr each = std::move(finished.back());
    finished.pop_back();
    each->finished_at = each->ready_at;
    each->done = true;
    for (const OperationPtr& dependent : std::exchange(each->dependents, {})) {
      dependent->ready_at = std::max(dependent->ready_at, each->finished_at);
      if (--dependent->num_unfinished == 0) start(dependent, Worker::engine, finished);
    }
  }
  note_progress();
  finished_.notify_all();
}

void Scheduler::note_progress() { progress_.fetch_add(1, std::memory_order_release); }

void Scheduler::wait(Lock& lock, const OperationPtr& operation) {
  while (operation != nullptr && !operation->done) {
    if (const OperationPtr mine = helpable(*operation)) {
      run(lock, mine);
    } else {
      await_progress(lock, *operation);
    }
  }
}

/// A caller helps only with work that it waits for anyway: the head of its own stream.
OperationPtr Scheduler::helpable(const Operation& awaited) {
  for (Lane* lane : lanes_) {
    if (OperationPtr mine = lane->take_for(awaited.stream)) return mine;
  }
  return nullptr;
}

/// Returns after any operation started or ended. Sleeps if that is known to be far away; otherwise
/// spins first.
void Scheduler::await_progress(Lock& lock, const Operation& awaited) {
  if (awaited.expected_end != Time::max() && awaited.expected_end - Clock::now() > kSpin) {
    finished_.wait_until(lock, awaited.expected_end - kSpin);
    return;
  }
  const std::uint64_t seen = progress_.load(std::memory_order_acquire);
  const auto moved = [&] { return progress_.load(std::memory_order_acquire) != seen; };
  lock.unlock();
  spin_until(moved, 2 * kSpin);
  acquire(lock);
  finished_.wait(lock, moved);
}

namespace {

/// Polls at full speed for this long, then with pauses: a gate usually opens soon, or much later.
constexpr Duration kEagerPolling = std::chrono::microseconds(200);
constexpr Duration kPause = std::chrono::microseconds(20);

void pause(Time eager_until) {
  if (Clock::now() < eager_until) {
    spin_once();
  } else {
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

void Scheduler::require_poller() {
  if (!poller_started_)
    poller_started_ = start_engine_thread("emu-poller", [this] { poll_forever(); });
  require(poller_started_, CUDA_ERROR_OPERATING_SYSTEM);
}

void Scheduler::watch(const OperationPtr& operation) {
  polled_.push_back(operation);
  polls_came_.notify_one();
}

void Scheduler::poll_forever() {
  Time eager_until{};
  std::size_t num_known = 0;
  Lock lock = this->lock();
  for (;;) {
    polls_came_.wait(lock, [&] { return !polled_.empty(); });
    if (polled_.size() > num_known) eager_until = Clock::now() + kEagerPolling;
    std::vector<OperationPtr> candidates = polled_;
    lock.unlock();
    std::erase_if(candidates, [](const OperationPtr& each) { return !each->satisfied(); });
    if (candidates.empty()) pause(eager_until);
    acquire(lock);
    for (const OperationPtr& satisfied : candidates) {
      std::erase(polled_, satisfied);
      finish(satisfied, Clock::now());
    }
    num_known = polled_.size();
  }
}

}  // namespace isthmus::emulator
