#include "measure/latency.hpp"

#include "measure/sampling.hpp"
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

/// Device clock between two events with `between()` in the middle.
template <typename Between>
double event_delta(const Context& context, const Request& request, const Event& first,
                   const Event& last, Between between) {
  first.record(request.stream());
  between();
  last.record(request.stream());
  last.synchronize();
  return elapsed_seconds(context, first, last);
}

void sample_events(const Context& context, const Request& request, const Stopping& stopping,
                   Measurement& measurement) {
  const Event first(context);
  const Event last(context);
  measurement.samples.push_back(sample(stopping, "event_delta", 1, [&] {
    return event_delta(context, request, first, last, [&] { request.call(); });
  }));
  measurement.samples.push_back(sample(stopping, "event_floor", 1, [&] {
    return event_delta(context, request, first, last, [] {});
  }));
}

}  // namespace

Measurement measure_latency(CopyBuffers& buffers, const Kernels* kernels,
                            const LatencyOptions& options) {
  buffers.prepare(options.direction, options.size_bytes, kernels);
  const Context& context = buffers.context();
  const CurrentContext current(context);
  const Stopping& stopping = options.stopping;
  const Request request(buffers, options);
  Measurement measurement;
  measurement.first_call_seconds = completion(request);
  for (std::size_t i = 0; i < kWarmUps; ++i) completion(request);
  measurement.samples.push_back(
      sample(stopping, "api_return", 1, [&] { return api_return(request); }));
  measurement.samples.push_back(
      sample(stopping, "completion", 1, [&] { return completion(request); }));
  sample_events(context, request, stopping, measurement);
  measurement.samples.push_back(sample(stopping, "reciprocal_throughput", kBackToBack,
                                       [&] { return back_to_back(request); }));
  measurement.verified_on = buffers.verify(options.direction, options.size_bytes, kernels);
  measure_visibility(buffers, kernels, options, measurement);
  return measurement;
}

}  // namespace isthmus::measure
