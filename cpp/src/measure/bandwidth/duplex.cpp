#include "measure/bandwidth/bandwidth.hpp"

#include <isthmus/errors.hpp>

#include "measure/loops/gate.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

// Half of what a single direction may queue: the other direction gets up to 4 times as many copies.
constexpr SampleSize kSampleSize{.max_repetitions = SampleSize{}.max_repetitions / 2};
// Like nvbandwidth, twice as many bytes go the other way, and more if that load ends too soon.
constexpr std::size_t kLoadRatios[] = {2, 4, 4, 4};
constexpr std::size_t kUsualPlace = 0;  // the stream of the timed direction, or of uploads
constexpr std::size_t kOppositePlace = 1;

Direction opposite(Direction direction) {
  return direction == Direction::host_to_device ? Direction::device_to_host
                                                : Direction::host_to_device;
}

/// Two streams of copies, one for each direction, with a common start.
class BothWays {
public:
  BothWays(CopyBuffers& usual, CopyBuffers& other, const Kernels* kernels, Direction direction,
           const DuplexOptions& options)
      : direction_(direction),
        size_bytes_(options.size_bytes),
        verify_(options.stopping.verify),
        kernels_(kernels),
        buffers_{&usual, &other},
        loop_(usual.context(), kernels,
              {copy_by(options.by, usual, kernels, direction, options.size_bytes),
               copy_by(options.by, other, kernels, opposite(direction), options.size_bytes)},
              {.gate_timeout = options.gate_timeout}) {}

  /// Times the first copy by the CPU's clock, and determines how many copies make a sample.
  double first_call() {
    const double first_seconds = loop_.first_call(1);
    num_copies_ = calibrate(kSampleSize, first_seconds, [this](std::size_t num_copies) {
      loop_.run(num_copies);
      return own_seconds(kUsualPlace) / static_cast<double>(num_copies);
    });
    return first_seconds;
  }

  void run(std::size_t load_ratio) {
    loop_.enqueue(num_copies_, load_ratio);
    loop_.release();
    loop_.wait();
  }

  std::size_t num_copies() const { return num_copies_; }
  double own_seconds(std::size_t place) const { return loop_.seconds(place); }
  double makespan_seconds() const { return loop_.makespan_seconds(); }

  void poison() {
    if (!verify_) return;
    buffers_[kUsualPlace]->poison(direction_, size_bytes_);
    buffers_[kOppositePlace]->poison(opposite(direction_), size_bytes_);
  }
  VerifiedOn verify() {
    if (!verify_) return VerifiedOn::nobody;
    buffers_[kOppositePlace]->verify(opposite(direction_), size_bytes_, kernels_);
    return buffers_[kUsualPlace]->verify(direction_, size_bytes_, kernels_);
  }

private:
  Direction direction_;
  std::size_t size_bytes_;
  bool verify_;
  const Kernels* kernels_;
  CopyBuffers* buffers_[2];
  GateLoop loop_;
  std::size_t num_copies_ = 1;
};

/// Seconds for one copy while the other direction is busy all the time.
double loaded_sample(BothWays& ways) {
  for (const std::size_t ratio : kLoadRatios) {
    ways.run(ratio);
    const double seconds = ways.own_seconds(kUsualPlace);
    if (ways.own_seconds(kOppositePlace) >= seconds)
      return seconds / static_cast<double>(ways.num_copies());
  }
  throw Unavailable("copies under load",
                    "the copies of the other direction, 4 times as many, were complete before "
                    "those that are timed",
                    "a link whose directions are less unequal");
}

void check(CopyBuffers& first, CopyBuffers& second, const Kernels* kernels,
           const DuplexOptions& options) {
  for (CopyBuffers* buffers : {&first, &second}) {
    if (buffers->host_memory() == HostMemory::pageable) {
      throw UsageError("pageable copies can't run behind a gate: duplex needs pinned memory");
    }
    buffers->check_size(options.size_bytes);
    buffers->prepare(kernels);
  }
}

/// Samples of the total and of both directions, taken together.
struct Duplex {
  Sampling total;
  std::vector<double> up_seconds;
  std::vector<double> down_seconds;

  void take(BothWays& ways) {
    ways.run(1);
    const auto copies = static_cast<double>(ways.num_copies());
    total.add(ways.makespan_seconds() / (2 * copies));
    up_seconds.push_back(ways.own_seconds(kUsualPlace) / copies);
    down_seconds.push_back(ways.own_seconds(kOppositePlace) / copies);
  }
};

}  // namespace

Measurement measure_under_load(CopyBuffers& buffers, CopyBuffers& load, const Kernels* kernels,
                               Direction direction, const DuplexOptions& options) {
  check(buffers, load, kernels, options);
  const CurrentContext current(buffers.context());
  BothWays ways(buffers, load, kernels, direction, options);
  Measurement measurement;
  measurement.first_call_seconds = ways.first_call();
  ways.poison();
  try {
    Samples samples = sample(options.stopping, "copy_time", ways.num_copies(),
                             [&] { return loaded_sample(ways); });
    measurement.verified_on = ways.verify();
    measurement.samples.push_back(std::move(samples));
  } catch (const Unavailable&) {
    ways.verify();  // copies that silently do nothing would keep no direction busy
    throw;
  }
  return measurement;
}

Measurement measure_duplex(CopyBuffers& up, CopyBuffers& down, const Kernels* kernels,
                           const DuplexOptions& options) {
  check(up, down, kernels, options);
  const CurrentContext current(up.context());
  BothWays ways(up, down, kernels, Direction::host_to_device, options);
  Measurement measurement;
  measurement.first_call_seconds = ways.first_call();
  ways.poison();
  Duplex duplex{Sampling(options.stopping), {}, {}};
  while (duplex.total.wants_more()) duplex.take(ways);
  measurement.verified_on = ways.verify();
  Samples total = std::move(duplex.total).finish("duplex_total", 2 * ways.num_copies());
  const StoppedBy stopped_by = total.stopped_by;
  measurement.samples.push_back(std::move(total));
  measurement.samples.push_back(
      {"duplex_h2d", std::move(duplex.up_seconds), ways.num_copies(), stopped_by});
  measurement.samples.push_back(
      {"duplex_d2h", std::move(duplex.down_seconds), ways.num_copies(), stopped_by});
  return measurement;
}

}  // namespace isthmus::measure
