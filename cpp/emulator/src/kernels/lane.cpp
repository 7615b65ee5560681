#include "kernels/lane.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "api/refusal.hpp"
#include "streams/engine_thread.hpp"
#include "streams/scheduler.hpp"

namespace isthmus::emulator {

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

}  // namespace isthmus::emulator
