#include "measure/latency/latency.hpp"

#include <algorithm>
#include <optional>

#include <isthmus/errors.hpp>

#include "host/cpu/copy_instructions.hpp"
#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/flags.hpp"
#include "measure/loops/gate.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

constexpr const char* kMetric = "visible";
constexpr std::size_t kWarmUpRounds = 10;

/// The flag is the last aligned word of the copy.
std::size_t flag_offset(std::size_t size_bytes) {
  return size_bytes / kFlagBytes * kFlagBytes - kFlagBytes;
}

std::string reason_to_waive(const CopyBuffers& buffers, const Kernels* kernels,
                            const LatencyOptions& options) {
  if (options.size_bytes < kFlagBytes) return "needs a copy of at least 4 bytes to carry the flag";
  if (options.direction == Direction::host_to_device) {
    return kernels != nullptr ? "" : "needs a running kernel, and there is no NVRTC to compile one";
  }
  if (traits_of(options.method, options.direction, buffers.host_memory()).over_on_return)
    return "the call returns with the bytes visible: see completion";
  return buffers.host_memory() != HostMemory::pageable
             ? ""
             : "an async copy to pageable memory returns with the bytes visible: see completion";
}

void make_ready(const CopyBuffers& buffers, const LatencyOptions& options) {
  if (options.cold) host::evict_from_caches(buffers.host(), options.size_bytes);
}

/// A kernel that polls a flag in device memory and answers in pinned memory, until this is
/// destroyed.
class EchoKernel {
public:
  EchoKernel(const Context& context, const Kernels& kernels, CUdeviceptr question,
             unsigned num_rounds, std::chrono::duration<double> timeout)
      : driver_(context.driver()),
        question_(question),
        answer_(context, kFlagBytes),
        stream_(context),
        stop_(context) {
    answer().store(0);
    // A memset clears the flag at the start and stops the kernel at the end. By then the memset is
    // loaded: loading it while a kernel spins could wait for that kernel.
    driver_.call(symbol::memset_d32_async)(question_, 0U, std::size_t{1}, stream_.handle());
    stream_.synchronize();  // else a copy on another stream could come before the memset
    kernels.get("echo", "isthmus_echo")
        .launch(stream_.handle(), 1, 1, question_, answer_.device_pointer(), num_rounds,
                static_cast<unsigned long long>(timeout.count() * 1e9));
  }
  ~EchoKernel() {
    driver_.raw(symbol::memset_d32_async)(question_, kNoMoreQuestions, 1, stop_.handle());
    driver_.raw(symbol::stream_synchronize)(stream_.handle());
  }
  EchoKernel(const EchoKernel&) = delete;
  EchoKernel& operator=(const EchoKernel&) = delete;

  Flag answer() const { return flag_at(answer_.data()); }

private:
  Driver driver_;
  CUdeviceptr question_;
  PinnedBuffer answer_;
  Stream stream_;
  Stream stop_;
};

/// Host to device: the CPU copies numbers 1, 2, ... and waits for the kernel to return each.
Samples sample_question_and_answer(CopyBuffers& buffers, const Kernels& kernels, SmallCopy& copy,
                                   const LatencyOptions& options) {
  const Context& context = buffers.context();
  const std::size_t offset = flag_offset(options.size_bytes);
  const Flag question = flag_at(buffers.host() + offset);
  const auto num_rounds = static_cast<unsigned>(options.stopping.max_samples + kWarmUpRounds);
  const EchoKernel echo(context, kernels, buffers.device() + offset, num_rounds,
                        options.answer_timeout);
  const Flag answer = echo.answer();
  std::uint32_t round = 0;
  const auto one_round = [&] {
    question.store(++round);
    make_ready(buffers, options);
    const auto start = Clock::now();
    copy.call();
    await(answer, round, options.answer_timeout, "a kernel's answer");
    return seconds_since(start);
  };
  for (std::size_t i = 0; i < kWarmUpRounds; ++i) one_round();
  return sample(options.stopping, kMetric, 1, one_round);
}

/// Device to host: the CPU polls the target of an async copy.
Samples sample_polled_target(CopyBuffers& buffers, SmallCopy& copy, const LatencyOptions& options) {
  const Context& context = buffers.context();
  const Stream stream(context);
  const std::size_t offset = flag_offset(options.size_bytes);
  const Flag seen = flag_at(buffers.host() + offset);
  std::uint32_t round = 0;
  const auto one_round = [&] {
    context.driver().call(symbol::memset_d32_async)(buffers.device() + offset, ++round,
                                                    std::size_t{1}, stream.handle());
    stream.synchronize();
    make_ready(buffers, options);
    const auto start = Clock::now();
    copy.call();
    await(seen, round, options.answer_timeout, "a copied value");
    const double seconds = seconds_since(start);
    copy.wait();
    return seconds;
  };
  for (std::size_t i = 0; i < kWarmUpRounds; ++i) one_round();
  return sample(options.stopping, kMetric, 1, one_round);
}

/// Adds the metric "visible" to `measurement`, or the reason why it is waived. The caller holds a
/// CurrentContext.
///
/// copy     made from the options, and called before, so that everything it needs is loaded
/// Afterwards the buffers don't hold the pattern; the next prepare() restores it.
/// Throws   TimedOut if a kernel's answer never came; then the kernel has ended too.
void measure_visibility(CopyBuffers& buffers, const Kernels* kernels, SmallCopy& copy,
                        const LatencyOptions& options, Measurement& measurement) {
  const std::string reason = reason_to_waive(buffers, kernels, options);
  if (!reason.empty()) {
    measurement.waived[kMetric] = reason;
    return;
  }
  buffers.disturb();
  measurement.samples.push_back(options.direction == Direction::host_to_device
                                    ? sample_question_and_answer(buffers, *kernels, copy, options)
                                    : sample_polled_target(buffers, copy, options));
}
// For copies back to back: one of 64 KiB through a window takes 66 us to the host.
constexpr SampleSize kBackToBack{.seconds = 1e-3, .max_repetitions = 100, .min_repetitions = 10};
constexpr std::size_t kWarmUps = 20;

constexpr const char* kNoStream = "the CPU makes this copy, so GPU events can't time it";
constexpr const char* kOverOnReturn = "the call returns when the copy is complete: see completion";
constexpr const char* kWarmAfterOne =
    "measured warm only: back-to-back copies keep the bytes in the caches";

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
