// An engine of the emulated device: it executes operations that are ready, in order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>

#include "streams/operation.hpp"

namespace isthmus::emulator {

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

}  // namespace isthmus::emulator
