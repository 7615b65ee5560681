// Several streams of one device that begin at the same moment, and the time when each ends.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "measure/loops/gate.hpp"

namespace isthmus::measure {

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
