#include "streams/scheduler.hpp"

#include <algorithm>
#include <utility>

#include "machine/machine.hpp"

namespace isthmus::emulator {
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

}  // namespace isthmus::emulator
