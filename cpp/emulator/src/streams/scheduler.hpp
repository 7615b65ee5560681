// Decides when operations (a copy, a kernel, an event record) run: engines execute those that are
// ready, in order; the graph of operations; threads that wait for them; streams and events, which
// order them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "api/cuda_api.hpp"
#include "machine/clock.hpp"

namespace isthmus::emulator {

class Lane;
struct Stream;
struct Operation;
using OperationPtr = std::shared_ptr<Operation>;

/// An operation starts when everything it waits for is complete and its lane has a free slot.
///
/// Streams aren't queues here: an operation waits for the previous one in its stream, for the
/// events that its stream waits for, and for whatever the legacy default stream requires.
struct Operation {
  /// Does the work, which takes the modelled time; receives its start and returns its end. Both are
  /// on the modelled timeline, which may be slightly behind the clock but never ahead of it.
  std::function<Time(Time start)> work;
  /// For an operation without work: polled; true once it may finish. Null: at once.
  std::function<bool()> satisfied;
  Lane* lane = nullptr;            ///< executes the work; null without work
  Duration expected{kNoTime};      ///< how long the work takes, a hint for waiting threads
  const Stream* stream = nullptr;  ///< for callers that help; only compared, never dereferenced

  // Guarded by the scheduler's mutex, until `done`.
  std::size_t num_unfinished = 0;  ///< operations that it still waits for
  std::vector<OperationPtr> dependents;
  Time ready_at;                    ///< when the last of those finished, or when it was enqueued
  Time expected_end = Time::max();  ///< known while it runs

  /// When it finished, on the modelled timeline. Written before `done`.
  Time finished_at;
  std::atomic<bool> done{false};
};

class Scheduler;

/// How much a lane does at once, and which threads may do it.
struct LaneKind {
  const char* thread_name;        ///< at most 15 characters
  std::size_t num_slots;          ///< concurrent operations
  bool callers_may_help = false;  ///< a waiting caller may do the work instead of the lane's thread
};

/// The ready operations of one engine, and its threads, which start when first needed and never
/// end. Every member except the constructor needs the scheduler's mutex.
class Lane {
public:
  explicit Lane(LaneKind kind) : kind_(kind) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void push(OperationPtr operation) { ready_.push_back(std::move(operation)); }
  bool has_room() const { return num_running_ < kind_.num_slots; }
  bool has_work() const { return !ready_.empty() && has_room(); }

  /// Takes the next operation into a slot. Requires has_work().
  OperationPtr take();
  /// The same for a caller that waits for `stream`, if callers may help and the next operation is
  /// of that stream.
  OperationPtr take_for(const Stream* stream);
  /// Frees the slot of an operation that ended.
  void release(Time end);
  /// When an operation that became ready at `ready` starts: a single engine runs one after the
  /// other.
  Time start_of(Time ready) const;
  /// Ensures that there is a thread, now or for later work.
  ///
  /// Throws      Refusal(OPERATING_SYSTEM) if the system refuses the first one
  void require_thread(Scheduler& scheduler);
  /// Lets a thread take the work: wakes one, or starts one more, if the system has one.
  void wake(Scheduler& scheduler);

private:
  friend class LaneThread;

  bool start_thread(Scheduler& scheduler);

  LaneKind kind_;
  std::deque<OperationPtr> ready_;
  std::size_t num_running_ = 0;
  std::size_t num_threads_ = 0;
  std::size_t num_idle_ = 0;  ///< threads looking for work, and those that begin
  Time free_at_;
  std::condition_variable work_came_;
  std::atomic<bool> has_work_hint_{false};  ///< read by spinning threads without the mutex
};

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

struct Context;

struct Stream {
  std::uint64_t number = 0;  ///< for the log; 0 is the legacy default stream
  Context* context = nullptr;
  bool blocking = true;  ///< ordered with the legacy default stream
  OperationPtr last;     ///< the last enqueued operation; null at first
};
using StreamPtr = std::shared_ptr<Stream>;

struct Event {
  Context* context = nullptr;
  bool timed = true;
  OperationPtr recorded;  ///< the last record; null at first
};
using EventPtr = std::shared_ptr<Event>;

/// True for 0 and CU_STREAM_LEGACY.
inline bool is_default_handle(CUstream handle) {
  return handle == nullptr || handle == CU_STREAM_LEGACY;
}

/// Finds a stream of the current context: its default stream for 0 and CU_STREAM_LEGACY, the
/// calling thread's for CU_STREAM_PER_THREAD.
///
/// Throws Refusal: INVALID_CONTEXT; INVALID_HANDLE for a destroyed stream, or one of another
/// context; STREAM_CAPTURE_IMPLICIT like refuse_beside_blocking_capture().
StreamPtr find_stream(Lock& lock, Context& context, CUstream handle);

/// Visits all streams of a context except its legacy default stream.
void for_each_stream(Lock& lock, const Context& context,
                     const std::function<void(const Stream&)>& visit);

/// Adds an operation to the end of a stream, after everything it waits for by CUDA's rules.
///
/// also_after   an operation of another stream (an event's record); may be null
void enqueue(Lock& lock, const StreamPtr& stream, const OperationPtr& operation,
             const OperationPtr& also_after = nullptr, Worker worker = Worker::engine);

/// The operations to complete before the stream is idle; for the default stream, also those of
/// every blocking stream.
std::vector<OperationPtr> unfinished(Lock& lock, const Stream& stream);

/// The result of a query. Like a real driver, briefly delays a caller that gets "not ready", so
/// that a polling caller doesn't keep the engines from the lock.
CUresult query_result(Lock& lock, bool ready);

/// Blocks until all of these are complete.
void drain(Lock& lock, const Stream& stream);

}  // namespace isthmus::emulator
