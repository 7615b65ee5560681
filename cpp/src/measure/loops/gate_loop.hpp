// Copies back to back behind a gate, timed by the device's clock.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "measure/loops/gate.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {

/// Like nvbandwidth: this many copies load the engine's descriptors and TLB.
inline constexpr std::size_t kWarmUpCopies = 4;

struct GateLoopOptions {
  std::chrono::duration<double> gate_timeout{15.0};
  std::size_t num_warm_ups = kWarmUpCopies;  ///< in each stream, before the timed copies
  /// The engine launches for each copy, > 0: a held stream queues only a limited number.
  std::size_t launches_a_copy = 1;
};

/// Copies in one or several streams of a device. Each stream repeats a copy of its own. The copies
/// are held back until all are enqueued; then the device runs them without the CPU.
///
/// Loops of several devices begin together: enqueue() them all, then release() them all. Each
/// function makes the context current by itself.
class GateLoop {
public:
  /// Enqueues one copy, without waiting. The context is current.
  using Enqueue = std::function<void(CUstream)>;

  /// copies    one for each stream; what they use outlives the loop
  /// kernels   null: only devices with cuStreamWaitValue32 can be held
  /// Throws    Unavailable if the device's streams can't be held.
  GateLoop(const Context& context, const Kernels* kernels, std::vector<Enqueue> copies,
           const GateLoopOptions& options);

  /// Copies once in each of the first `num_streams` streams, without a gate: a kernel that is
  /// loaded when it is launched would wait for the gate. Returns the seconds by the CPU's clock.
  double first_call(std::size_t num_streams);
  double first_call() { return first_call(copies_.size()); }

  /// Determines by trial how many copies make a sample.
  std::size_t calibrate(double first_call_seconds, const SampleSize& size = {});

  /// Takes one sample. Returns the seconds for one copy: `num_copies` follow each other in each
  /// stream, and the time ends when the last stream has finished.
  ///
  /// Throws    TimedOut if the watchdog had to release the gate.
  double run(std::size_t num_copies);

  /// Blocks the streams, and enqueues the warm-ups and the timed copies.
  ///
  /// load_ratio   the streams after the first get this many times as many copies
  void enqueue(std::size_t num_copies, std::size_t load_ratio = 1);
  /// Releases the copies. Throws TimedOut if the watchdog had to release the gate.
  void release() { start_.release(); }
  /// Waits for the last copy.
  void wait() const;

  /// The seconds of all copies in one stream, without and with the warm-ups. After wait().
  double seconds(std::size_t stream = 0) const;
  double seconds_with_warm_ups(std::size_t stream = 0) const;
  /// From the end of the warm-ups until the last stream has finished.
  double makespan_seconds() const;

private:
  void enqueue_in(std::size_t first_stream, std::size_t num_copies);

  Context context_;
  std::vector<Enqueue> copies_;
  std::size_t max_held_;  ///< warm-ups and timed copies of one stream together
  std::size_t num_warm_ups_;
  CommonStart start_;  ///< destroyed first; waits for work that a failure left enqueued
};

}  // namespace isthmus::measure
