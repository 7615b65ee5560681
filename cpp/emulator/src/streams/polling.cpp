// Operations that wait for a value in memory: they are polled, since there is no notification.
#include <thread>
#include <utility>

#include "api/refusal.hpp"
#include "streams/engine_thread.hpp"
#include "streams/scheduler.hpp"

namespace isthmus::emulator {
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
