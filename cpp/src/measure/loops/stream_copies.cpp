#include "measure/loops/stream_copies.hpp"

#include <isthmus/errors.hpp>

#include "measure/bandwidth/piece_copy.hpp"
#include "measure/loops/common_start.hpp"
#include "measure/loops/repetitions.hpp"
#include "measure/loops/verified_sampling.hpp"

namespace isthmus::measure {
namespace {

constexpr std::size_t kSliceAlignment = 64;

void check(const CopyBuffers& buffers, const StreamCopiesOptions& options) {
  buffers.check_size(options.size_bytes);
  if (buffers.host_memory() == HostMemory::pageable) {
    throw UsageError("pageable copies can't run behind a gate: streams need pinned memory");
  }
  if (options.num_streams == 0 || options.size_bytes / options.num_streams < kSliceAlignment) {
    throw UsageError("a copy of " + std::to_string(options.size_bytes) + " bytes by " +
                     std::to_string(options.num_streams) +
                     " streams: at least 1 stream, and 64 bytes for each");
  }
}

/// The slices of a copy, one a stream.
class Slices {
public:
  Slices(const CopyBuffers& buffers, const Kernels* kernels, const StreamCopiesOptions& options)
      : driver_(buffers.context().driver()),
        start_(buffers.context(), kernels, options.num_streams, options.gate_timeout) {
    std::size_t begin = 0;
    for (std::size_t i = 1; i <= options.num_streams; ++i) {
      const std::size_t even = options.size_bytes / options.num_streams * i;
      const bool last = i == options.num_streams;
      const std::size_t end = last ? options.size_bytes : even / kSliceAlignment * kSliceAlignment;
      slices_.push_back({buffers.host() + begin, buffers.device() + begin, end - begin,
                         options.direction == Direction::host_to_device});
      begin = end;
    }
  }

  double first_call() {
    const auto begin = Clock::now();
    enqueue_all();
    for (std::size_t i = 0; i < slices_.size(); ++i) start_.stream(i).synchronize();
    const double seconds = seconds_since(begin);
    num_rounds_ = std::min<std::size_t>(4, repetitions_for(seconds));
    one_sample();  // voided: lazy loading
    num_rounds_ = repetitions_for(one_sample());
    return seconds;
  }

  std::size_t num_rounds() const { return num_rounds_; }

  double one_sample() {
    start_.hold();
    for (std::size_t i = 0; i < kWarmUpRepetitions; ++i) enqueue_all();
    start_.mark_start();
    for (std::size_t i = 0; i < num_rounds_; ++i) enqueue_all();
    start_.release_and_wait();
    return start_.makespan_seconds() / static_cast<double>(num_rounds_);
  }

private:
  void enqueue_all() {
    for (std::size_t i = 0; i < slices_.size(); ++i)
      enqueue(driver_, slices_[i], start_.stream(i).handle());
  }

  Driver driver_;
  CommonStart start_;
  std::vector<LinkCopy> slices_;
  std::size_t num_rounds_ = 1;
};

}  // namespace

Measurement measure_stream_copies(CopyBuffers& buffers, const Kernels* kernels,
                                  const StreamCopiesOptions& options) {
  check(buffers, options);
  buffers.prepare(kernels);
  const CurrentContext current(buffers.context());
  Slices slices(buffers, kernels, options);
  Measurement measurement;
  measurement.first_call_seconds = slices.first_call();
  VerifiedSampling sampling(buffers, kernels, options.direction, options.size_bytes,
                            options.stopping);
  sampling.add(measurement, "copy_time", slices.num_rounds(), [&] { return slices.one_sample(); });
  return measurement;
}

}  // namespace isthmus::measure
