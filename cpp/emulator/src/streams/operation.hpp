// An action of a device: a copy, a kernel, an event record. Operations form a graph.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

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

}  // namespace isthmus::emulator
