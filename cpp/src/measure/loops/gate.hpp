// Holds streams, so that the time to enqueue work isn't part of its measured time, and several
// begin at the same moment.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "device/buffers.hpp"
#include "device/kernels.hpp"
#include "measure/loops/failures.hpp"

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

}  // namespace isthmus::measure
