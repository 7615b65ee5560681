// Decides when operations run: the graph of operations, and the threads that wait for them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "kernels/lane.hpp"
#include "streams/operation.hpp"

namespace isthmus::emulator {

using Lock = std::unique_lock<std::mutex>;

/// Locks after spinning briefly: the mutex is held for less than a microsecond at a time, and a
/// thread that sleeps for it would always lose against a caller that polls cuEventQuery.
void acquire(Lock& lock);

/// Which thread starts the work of a new operation.
enum class Worker {
  engine,  ///< the lane's thread, woken now
  caller,  ///< the caller, if it waits next and the lane is free; saves a wake-up
};

class Scheduler {
public:
  /// Locks all operations, lanes, streams, events and tables of the emulator.
  [[nodiscard]] Lock lock() {
    Lock lock(mutex_, std::defer_lock);
    acquire(lock);
    return lock;
  }

  /// Adds an operation that starts after all of `after`; null and finished ones are ignored.
  ///
  /// Throws      Refusal(OPERATING_SYSTEM) if it needs a thread that the system refuses; it isn't
  ///             added then
  void submit(Lock& lock, const OperationPtr& operation, const std::vector<OperationPtr>& after,
              Worker worker = Worker::engine);

  /// Blocks until `operation` (may be null) is done; executes its stream's work on this thread if
  /// possible. Releases the lock meanwhile.
  void wait(Lock& lock, const OperationPtr& operation);

  /// Executes an operation taken from its lane, then everything that its end triggers.
  void run(Lock& lock, const OperationPtr& operation);

private:
  void start(const OperationPtr& operation, Worker worker, std::vector<OperationPtr>& finished);
  void finish(const OperationPtr& operation, Time end);
  OperationPtr helpable(const Operation& awaited);
  void await_progress(Lock& lock, const Operation& awaited);
  void poll_forever();
  void require_poller();
  void watch(const OperationPtr& operation);
  void note_progress();

  std::mutex mutex_;
  std::condition_variable finished_;        ///< an operation finished
  std::atomic<std::uint64_t> progress_{0};  ///< counts starts and ends, for spinning threads
  std::vector<Lane*> lanes_;                ///< every lane that ever had work
  std::vector<OperationPtr> polled_;        ///< waiting for `satisfied`
  std::condition_variable polls_came_;
  bool poller_started_ = false;
};

}  // namespace isthmus::emulator
