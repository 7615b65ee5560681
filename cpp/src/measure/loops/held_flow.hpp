// A flow's copies in a stream of their own, held back until all are enqueued.
#pragma once

#include <chrono>

#include "device/stream.hpp"
#include "measure/loops/flow.hpp"
#include "measure/loops/gate.hpp"

namespace isthmus::measure {

/// Runs a number of a flow's copies behind a gate and between events. Several of them, on whichever
/// devices, begin together: hold() and enqueue() them all, then release() them all.
class HeldFlow {
public:
  /// The flow must stay.
  ///
  /// kernels   null: only devices with cuStreamWaitValue32 can be held
  /// Throws    Unavailable if the device's streams can't be held.
  HeldFlow(const Flow& flow, const Kernels* kernels, std::chrono::duration<double> gate_timeout);

  /// Blocks the stream, and enqueues warm-up copies and `num_copies` more.
  void enqueue(std::size_t num_warm_ups, std::size_t num_copies);
  /// Lets the copies go. Throws TimedOut if the gate had to open by itself.
  void release() { gate_.release(); }
  /// Waits for the last of them.
  void wait() const;

  /// Seconds of the device's clock, of the copies alone and with their warm-ups. After wait().
  double seconds_of_copies() const;
  double seconds_of_all() const;

private:
  const Flow& flow_;
  Stream stream_;
  Event begin_;  ///< before the warm-ups
  Event first_;
  Event last_;
  Gate gate_;
};

}  // namespace isthmus::measure
