#include "measure/latency/latency.hpp"

#include <optional>

#include <isthmus/errors.hpp>

#include "host/cpu/copy_instructions.hpp"
#include "measure/latency/visibility.hpp"
#include "measure/loops/gate.hpp"
#include "measure/loops/repetitions.hpp"
#include "measure/loops/verified_sampling.hpp"

namespace isthmus::measure {
namespace {

// For copies back to back: one of 64 KiB through a window takes 66 us to the host.
constexpr SampleSize kBackToBack{.seconds = 1e-3, .max_repetitions = 100, .min_repetitions = 10};
constexpr std::size_t kWarmUps = 20;

constexpr const char* kNoStream = "the CPU copies by itself: no stream and no event sees it";
constexpr const char* kOverOnReturn = "the call returns when the copy is complete: see completion";
constexpr const char* kWarmAfterOne =
    "copies back to back find the bytes where the one before left them: measured warm only";

double completion(SmallCopy& copy) {
  const auto start = Clock::now();
  copy.call();
  copy.wait();
  return seconds_since(start);
}

double api_return(SmallCopy& copy) {
  const auto start = Clock::now();
  copy.call();
  const double seconds = seconds_since(start);
  copy.wait();
  return seconds;
}

double back_to_back(SmallCopy& copy, std::size_t num_copies) {
  const auto start = Clock::now();
  for (std::size_t i = 0; i < num_copies; ++i) copy.call();
  copy.wait();
  return seconds_since(start) / static_cast<double>(num_copies);
}

/// Device clock between two events, with a copy or with nothing between them.
///
/// Work that can wait behind a gate does, so that the CPU's time to enqueue isn't between the
/// events. A blocking copy can't wait: its time by the device's clock includes the CPU's work.
class EventPair {
public:
  EventPair(const CopyBuffers& buffers, const Kernels* kernels, const LatencyOptions& options)
      : context_(buffers.context()), first_(context_), last_(context_) {
    if (traits_of(options.method, options.direction, buffers.host_memory()).can_wait)
      gate_.emplace(context_, kernels, options.answer_timeout);
  }

  template <typename Between>
  double seconds(CUstream stream, Between between) {
    if (gate_) gate_->hold(stream);
    first_.record(stream);
    between();
    last_.record(stream);
    if (gate_) gate_->release();
    last_.synchronize();
    return elapsed_seconds(context_, first_, last_);
  }

private:
  Context context_;
  Event first_;
  Event last_;
  std::optional<Gate> gate_;
};

/// All metrics of one copy.
class LatencyLoop {
public:
  LatencyLoop(CopyBuffers& buffers, const Kernels* kernels, const LatencyOptions& options)
      : buffers_(buffers),
        kernels_(kernels),
        options_(options),
        traits_(traits_of(options.method, options.direction, buffers.host_memory())),
        copy_(make_small_copy(buffers, kernels, options.windows, options.direction, options.method,
                              options.size_bytes)),
        sampling_(buffers, kernels, options.direction, options.size_bytes, options.stopping) {}

  Measurement run() {
    measurement_.first_call_seconds = completion(*copy_);
    double warm = 0;
    for (std::size_t i = 0; i < kWarmUps; ++i) warm = completion(*copy_);
    sample_host_clock();
    sample_events();
    sample_back_to_back(kBackToBack.repetitions_of(warm));
    measure_visibility(buffers_, kernels_, *copy_, options_, measurement_);
    return std::move(measurement_);
  }

private:
  void make_ready() const {
    if (options_.cold) host::evict_from_caches(buffers_.host(), options_.size_bytes);
  }

  template <typename OneSample>
  void add(const char* metric, std::size_t copies_per_sample, OneSample one) {
    sampling_.add(measurement_, metric, copies_per_sample, [&] {
      make_ready();
      return one();
    });
  }

  void sample_host_clock() {
    if (traits_.over_on_return) {
      measurement_.waived["api_return"] = kOverOnReturn;
      add("completion", 1, [this] { return api_return(*copy_); });
      return;
    }
    add("api_return", 1, [this] { return api_return(*copy_); });
    add("completion", 1, [this] { return completion(*copy_); });
  }

  void sample_events() {
    if (!traits_.in_stream) {
      measurement_.waived["event_delta"] = measurement_.waived["event_floor"] = kNoStream;
      return;
    }
    try {
      EventPair pair(buffers_, kernels_, options_);
      const CUstream stream = copy_->stream();
      add("event_delta", 1, [&] { return pair.seconds(stream, [&] { copy_->call(); }); });
      measurement_.samples.push_back(
          sample(options_.stopping, "event_floor", 1, [&] { return pair.seconds(stream, [] {}); }));
    } catch (const Unavailable& absence) {
      measurement_.waived["event_delta"] = measurement_.waived["event_floor"] = absence.what();
    }
  }

  void sample_back_to_back(std::size_t num_copies) {
    if (options_.cold) {
      measurement_.waived["reciprocal_throughput"] = kWarmAfterOne;
      return;
    }
    add("reciprocal_throughput", num_copies,
        [&, this] { return back_to_back(*copy_, num_copies); });
  }

  CopyBuffers& buffers_;
  const Kernels* kernels_;
  LatencyOptions options_;
  MethodTraits traits_;
  std::unique_ptr<SmallCopy> copy_;
  VerifiedSampling sampling_;
  Measurement measurement_;
};

}  // namespace

Measurement measure_latency(CopyBuffers& buffers, const Kernels* kernels,
                            const LatencyOptions& options) {
  buffers.check_size(options.size_bytes);
  if (options.cold && host::eviction_instruction().empty()) {
    throw Unavailable("cold CPU caches", "this CPU's programs can't evict cache lines",
                      "an x86-64 or 64-bit Arm CPU");
  }
  buffers.prepare(kernels);
  const CurrentContext current(buffers.context());
  return LatencyLoop(buffers, kernels, options).run();
}

}  // namespace isthmus::measure
