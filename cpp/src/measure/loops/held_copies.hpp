// One copy, back to back behind a gate, by the device's clock.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "device/stream.hpp"
#include "measure/loops/gate.hpp"

namespace isthmus::measure {

/// Samples of something that can be enqueued again and again. The caller holds a CurrentContext.
class HeldCopies {
public:
  using Enqueue = std::function<void(CUstream)>;

  /// enqueue           enqueues one copy, and waits for nothing
  /// kernels           null: only devices with cuStreamWaitValue32 can be held
  /// launches_a_copy   of the engine, > 0: a stream that is held takes a limited number of them
  /// Throws            Unavailable if the device's streams can't be held.
  HeldCopies(const Context& context, const Kernels* kernels, Enqueue enqueue,
             std::size_t launches_a_copy, std::chrono::duration<double> gate_timeout);
  /// Waits for what a failure left under way: its memory goes next.
  ~HeldCopies();
  HeldCopies(const HeldCopies&) = delete;
  HeldCopies& operator=(const HeldCopies&) = delete;

  /// Copies once, by the CPU's clock, then finds out how many copies make a sample.
  double first_call();
  std::size_t num_copies() const noexcept { return num_copies_; }
  /// Returns   seconds of one copy, of as many as num_copies() that followed each other
  double one_sample();

private:
  std::size_t max_that_are_timed(double one_seconds) const;

  Enqueue enqueue_;
  std::size_t max_held_;  ///< warm-ups and timed copies together
  std::size_t num_warm_ups_;
  Stream stream_;
  Event first_;
  Event last_;
  std::unique_ptr<Gate> gate_;  ///< opens before what it holds is waited for
  std::size_t num_copies_ = 1;
};

}  // namespace isthmus::measure
