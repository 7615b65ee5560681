// One thing a device does: a copy, a kernel, an event record. Operations form a graph.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "clock.hpp"

namespace isthmus::emulator {

class Lane;
struct Stream;
struct Operation;
using OperationPtr = std::shared_ptr<Operation>;

/// An operation starts when everything it waits for has finished and its lane has room.
///
/// Streams are no queues here: an operation waits for the one before it in its stream, for the
/// events its stream was told to wait for, and for what the legacy default stream demands.
struct Operation {
  /// Does the work, taking the modelled time; given when it starts, returns when it ended.
  /// Both lie on the modelled timeline, which may be a little behind the clock but never ahead of
  /// it.
  std::function<Time(Time start)> work;
  /// For an operation without work: true once it may finish. Polled. Null: at once.
  std::function<bool()> satisfied;
  Lane* lane = nullptr;            ///< who does the work; null without work
  Duration expected{kNoTime};      ///< how long the work takes, as a hint for those who wait
  const Stream* stream = nullptr;  ///< for those who help; only compared, never followed

  // Guarded by the scheduler's mutex, until `done`.
  std::size_t num_unfinished = 0;  ///< operations it still waits for
  std::vector<OperationPtr> dependents;
  Time ready_at;                    ///< when the last of those finished, or when it was enqueued
  Time expected_end = Time::max();  ///< known once it runs

  /// When it finished, on the modelled timeline. Written before `done`.
  Time finished_at;
  std::atomic<bool> done{false};
};

}  // namespace isthmus::emulator
