#include "measure/latency.hpp"

#include <optional>

#include <isthmus/errors.hpp>

#include "measure/gate.hpp"
#include "measure/verified_sampling.hpp"
#include "measure/visibility.hpp"

namespace isthmus::measure {
namespace {

constexpr std::size_t kBackToBack = 100;
constexpr std::size_t kWarmUps = 20;

/// One way to ask for the copy, on one stream. Blocking copies are ordered by the legacy default
/// stream.
class Request {
public:
  Request(const CopyBuffers& buffers, const LatencyOptions& options)
      : copy_(buffers, options.direction, options.size_bytes),
        stream_(buffers.context()),
        method_(options.method),
        driver_(buffers.context().driver()) {}

  void call() const {
    if (method_ == Method::blocking) {
      copy_.blocking();
    } else {
      copy_.enqueue(stream_.handle());
    }
  }
  void wait() const { driver_.call(symbol::stream_synchronize)(stream()); }
  CUstream stream() const noexcept {
    return method_ == Method::blocking ? nullptr : stream_.handle();
  }

private:
  Copy copy_;
  Stream stream_;
  Method method_;
  Driver driver_;
};

double completion(const Request& request) {
  const auto start = Clock::now();
  request.call();
  request.wait();
  return seconds_since(start);
}

double api_return(const Request& request) {
  const auto start = Clock::now();
  request.call();
  const double seconds = seconds_since(start);
  request.wait();
  return seconds;
}

double back_to_back(const Request& request) {
  const auto start = Clock::now();
  for (std::size_t i = 0; i < kBackToBack; ++i) request.call();
  request.wait();
  return seconds_since(start) / static_cast<double>(kBackToBack);
}

/// Device clock between two events, with a copy between them or with nothing.
///
/// What can wait behind a gate does, so that the time the CPU takes to ask is not between the
/// events. A blocking copy can't: there the device's clock also sees the CPU working.
class EventPair {
public:
  EventPair(const CopyBuffers& buffers, const Kernels* kernels, const LatencyOptions& options)
      : context_(buffers.context()), first_(context_), last_(context_) {
    if (can_wait(buffers, options)) gate_.emplace(context_, kernels, options.answer_timeout);
  }

  static bool can_wait(const CopyBuffers& buffers, const LatencyOptions& options) {
    return options.method == Method::async && buffers.host_memory() == HostMemory::pinned;
  }

  template <typename Between>
  double seconds(const Request& request, Between between) {
    if (gate_) gate_->hold(request.stream());
    first_.record(request.stream());
    between();
    last_.record(request.stream());
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

void sample_events(const CopyBuffers& buffers, const Kernels* kernels, const Request& request,
                   const LatencyOptions& options, VerifiedSampling& sampling,
                   Measurement& measurement) {
  try {
    EventPair pair(buffers, kernels, options);
    sampling.add(measurement, "event_delta", 1,
                 [&] { return pair.seconds(request, [&] { request.call(); }); });
    measurement.samples.push_back(
        sample(options.stopping, "event_floor", 1, [&] { return pair.seconds(request, [] {}); }));
  } catch (const Unavailable& absence) {
    measurement.waived["event_delta"] = measurement.waived["event_floor"] = absence.what();
  }
}

/// A blocking copy to the host is over when it returns; every other way has a wait after the call.
bool over_on_return(const LatencyOptions& options) {
  return options.method == Method::blocking && options.direction == Direction::device_to_host;
}

void sample_host_clock(const Request& request, const LatencyOptions& options,
                       VerifiedSampling& sampling, Measurement& measurement) {
  if (over_on_return(options)) {
    measurement.waived["api_return"] = "the call returns when the copy is complete: see completion";
    sampling.add(measurement, "completion", 1, [&] { return api_return(request); });
    return;
  }
  sampling.add(measurement, "api_return", 1, [&] { return api_return(request); });
  sampling.add(measurement, "completion", 1, [&] { return completion(request); });
}

}  // namespace

Measurement measure_latency(CopyBuffers& buffers, const Kernels* kernels,
                            const LatencyOptions& options) {
  buffers.check_size(options.size_bytes);
  buffers.prepare(kernels);
  const CurrentContext current(buffers.context());
  const Request request(buffers, options);
  VerifiedSampling sampling(buffers, kernels, options.direction, options.size_bytes,
                            options.stopping);
  Measurement measurement;
  measurement.first_call_seconds = completion(request);
  for (std::size_t i = 0; i < kWarmUps; ++i) completion(request);
  sample_host_clock(request, options, sampling, measurement);
  sample_events(buffers, kernels, request, options, sampling, measurement);
  sampling.add(measurement, "reciprocal_throughput", kBackToBack,
               [&] { return back_to_back(request); });
  measure_visibility(buffers, kernels, options, measurement);
  return measurement;
}

}  // namespace isthmus::measure
