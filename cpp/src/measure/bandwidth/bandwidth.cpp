#include "measure/bandwidth/bandwidth.hpp"

#include <algorithm>
#include <functional>

#include <isthmus/errors.hpp>

#include "measure/loops/gate.hpp"
#include "measure/loops/verified_sampling.hpp"

namespace isthmus::measure {
namespace {

constexpr const char* kMetric = "copy_time";
constexpr double kSampleSeconds = 2e-3;  // long against the 0.5 us resolution of events
constexpr std::size_t kMaxCopies =
    128;  // well under the ~1000 operations a stream queues unblocked
constexpr std::size_t kWarmUpCopies =
    4;  // as nvbandwidth: fetches the engine's descriptors and TLB
constexpr std::size_t kNoWarmUpBytes = std::size_t{32} << 20U;  // such a copy warms itself up

std::size_t copies_for(double one_copy_seconds) {
  const double wanted = kSampleSeconds / std::max(one_copy_seconds, 1e-9);
  return std::clamp(static_cast<std::size_t>(wanted), std::size_t{1}, kMaxCopies);
}

using Enqueue = std::function<void(CUstream)>;

Enqueue copy_by(const CopyBuffers& buffers, const Kernels* kernels,
                const BandwidthOptions& options) {
  if (options.by == Engine::multiprocessors) {
    return [copy = SmCopy(buffers, kernels, options.direction, options.size_bytes)](
               CUstream stream) { copy.enqueue(stream); };
  }
  return [copy = Copy(buffers, options.direction, options.size_bytes)](CUstream stream) {
    copy.enqueue(stream);
  };
}

double timed_copy(const Enqueue& enqueue, const Stream& stream) {
  const auto start = Clock::now();
  enqueue(stream.handle());
  stream.synchronize();
  return seconds_since(start);
}

/// The blocked loop. Events and copies are enqueued while the gate holds the stream; the device
/// then runs them back to back.
class BlockedLoop {
public:
  BlockedLoop(const CopyBuffers& buffers, const Kernels* kernels, const BandwidthOptions& options)
      : enqueue_(copy_by(buffers, kernels, options)),
        stream_(buffers.context()),
        first_(buffers.context()),
        last_(buffers.context()),
        gate_(buffers.context(), kernels, options.gate_timeout),
        warm_up_copies_(options.size_bytes < kNoWarmUpBytes ? kWarmUpCopies : 0) {}

  void run(VerifiedSampling& sampling, Measurement& measurement) {
    measurement.first_call_seconds = timed_copy(enqueue_, stream_);
    // A copy that fills a sample by itself is not repeated: there are gigabytes to wait for.
    num_copies_ = std::min<std::size_t>(4, copies_for(measurement.first_call_seconds));
    // Two voided samples: the first pays for lazy loading, the second says how long a copy takes.
    one_sample();
    num_copies_ = copies_for(one_sample());
    sampling.add(measurement, kMetric, num_copies_, [this] { return one_sample(); });
  }

private:
  double one_sample() {
    gate_.hold(stream_.handle());
    for (std::size_t i = 0; i < warm_up_copies_; ++i) enqueue_(stream_.handle());
    first_.record(stream_.handle());
    for (std::size_t i = 0; i < num_copies_; ++i) enqueue_(stream_.handle());
    last_.record(stream_.handle());
    gate_.release();
    last_.synchronize();
    return elapsed_seconds(stream_.context(), first_, last_) / static_cast<double>(num_copies_);
  }

  Enqueue enqueue_;
  Stream stream_;
  Event first_;
  Event last_;
  Gate gate_;
  std::size_t warm_up_copies_;
  std::size_t num_copies_ = 1;
};

/// The unblocked loop: the call and the wait for the device, by the CPU's clock, one copy at a
/// time. The wait is needed because a small pageable copy may return while the bytes are still on
/// their way.
void run_unblocked(const CopyBuffers& buffers, const BandwidthOptions& options,
                   VerifiedSampling& sampling, Measurement& measurement) {
  const Copy copy(buffers, options.direction, options.size_bytes);
  const auto finish = buffers.context().driver().call(symbol::stream_synchronize);
  const auto one_sample = [&] {
    const auto start = Clock::now();
    copy.blocking();
    finish(nullptr);
    return seconds_since(start);
  };
  measurement.first_call_seconds = one_sample();
  sampling.add(measurement, kMetric, 1, one_sample);
}

}  // namespace

Measurement measure_bandwidth(CopyBuffers& buffers, const Kernels* kernels,
                              const BandwidthOptions& options) {
  if (!options.blocked && options.by == Engine::multiprocessors) {
    throw UsageError("copies by multiprocessors are measured behind a gate only");
  }
  if (options.blocked && buffers.host_memory() == HostMemory::pageable) {
    throw UsageError(
        "pageable copies synchronise inside and can't run behind a gate: measure them unblocked");
  }
  buffers.check_size(options.size_bytes);
  buffers.prepare(kernels);
  const CurrentContext current(buffers.context());
  VerifiedSampling sampling(buffers, kernels, options.direction, options.size_bytes,
                            options.stopping);
  Measurement measurement;
  if (options.blocked) {
    BlockedLoop(buffers, kernels, options).run(sampling, measurement);
  } else {
    run_unblocked(buffers, options, sampling, measurement);
  }
  return measurement;
}

void run_copy_load(CopyBuffers& buffers, Direction direction,
                   std::chrono::duration<double> seconds) {
  const CurrentContext current(buffers.context());
  const Copy copy(buffers, direction, buffers.size_bytes());
  const Enqueue enqueue = [&copy](CUstream handle) { copy.enqueue(handle); };
  const Stream stream(buffers.context());
  const auto start = Clock::now();
  while (seconds_since(start) < seconds.count()) timed_copy(enqueue, stream);
}

}  // namespace isthmus::measure
