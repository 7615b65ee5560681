// How callers wait for operations: they do the work themselves, spin, or sleep.
#include <utility>

#include "streams/scheduler.hpp"

namespace isthmus::emulator {

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

}  // namespace isthmus::emulator
