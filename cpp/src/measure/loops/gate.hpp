// Holds streams, so that the time to enqueue work isn't part of its measured time, and several
// begin at the same moment; and the loop of copies behind a gate.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "device/buffers.hpp"
#include "device/kernels.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {

/// A gate in a stream: work enqueued after hold() starts only after release().
///
/// Made of cuStreamWaitValue32 on a flag in pinned memory or, if the device lacks that, of a kernel
/// that polls the flag. Nothing that synchronises with the stream or the device may be called while
/// it is held. If release() doesn't come in time (for example, because the enqueueing thread is
/// stuck), a watchdog thread releases the stream, and release() then throws.
class Gate {
public:
  /// kernels   null: only cuStreamWaitValue32 will do
  /// timeout   how long the stream may be held, > 0
  /// Throws    Unavailable if the device has no stream memory operations and `kernels` is null.
  Gate(const Context& context, const Kernels* kernels, std::chrono::duration<double> timeout);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Blocks `stream` from here on. Returns at once. Throws DriverError, and then doesn't block the
  /// stream.
  void hold(CUstream stream);

  /// Releases the stream. Throws TimedOut if the watchdog already did.
  void release();

private:
  void watch();
  void open() noexcept;
  void enqueue_wait(CUstream stream);

  Context context_;
  std::chrono::duration<double> timeout_;
  PinnedBuffer flag_;
  CUdeviceptr flag_on_device_;
  std::optional<Kernel> kernel_;  ///< null: cuStreamWaitValue32 is used
  std::uint32_t round_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  bool timed_out_ = false;
  bool ending_ = false;
  std::thread watchdog_;
};

/// Streams that are held together, released together, and timed by the device's clock.
///
/// For each sample: hold(), warm-ups on any stream, mark_start(), the timed work, mark_end(),
/// release(), wait(). No synchronising call is allowed before release(). The caller holds a
/// CurrentContext.
class CommonStart {
public:
  /// kernels       null: only cuStreamWaitValue32 can hold streams
  /// timeout       how long they may be held, > 0
  /// Throws        UsageError without a stream; Unavailable if no stream can be held.
  CommonStart(const Context& context, const Kernels* kernels, std::size_t num_streams,
              std::chrono::duration<double> timeout);
  /// Releases the streams, and waits for work that a failure left enqueued: its memory is freed
  /// next.
  ~CommonStart();
  CommonStart(const CommonStart&) = delete;
  CommonStart& operator=(const CommonStart&) = delete;

  std::size_t num_streams() const noexcept { return streams_.size(); }
  const Stream& stream(std::size_t index) const { return streams_[index]; }

  void hold();
  /// Starts the timed part: it begins in no stream before all earlier work in all streams is
  /// complete.
  void mark_start();
  void mark_end();
  /// Throws TimedOut if the streams were held for too long; then the sample is void. Needs no
  /// context.
  void release() { gate_->release(); }
  void wait() const;

  /// From the common start until all of one stream's work is complete.
  double seconds(std::size_t index) const;
  /// The same, from the release of the streams.
  double seconds_with_warm_ups(std::size_t index) const;
  /// From the common start until the last stream's work is complete.
  double makespan_seconds() const;

private:
  Context context_;
  std::vector<Stream> streams_;
  std::vector<Event> ready_;  ///< warm-ups are complete
  std::vector<Event> ends_;
  Event opened_;
  Event start_;
  std::unique_ptr<Gate> gate_;  ///< destroyed before the streams are waited for
};

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
