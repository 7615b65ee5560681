#include "measure/bandwidth/concurrent_flows.hpp"

#include <algorithm>
#include <memory>

#include <isthmus/errors.hpp>

#include "measure/loops/gate.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

// Much longer than the few microseconds between the devices' starts. Other flows get up to four
// times as many copies.
constexpr SampleSize kSampleSize{.seconds = 10e-3};
/// Other flows first get this many times the measured flow's copies, and more if they end first.
constexpr std::size_t kFirstLoad = 2;
constexpr std::size_t kMaxLoad = 4;
constexpr int kMaxVoidSamples = 20;
constexpr std::size_t kLargeBytes = std::size_t{32} << 20U;  // a copy this large needs no warm-up

std::size_t warm_ups_for(const Flow& flow) {
  return flow.size_bytes() < kLargeBytes ? kWarmUpCopies : 1;
}

/// All flows with their gates, ready to begin together.
class ConcurrentFlows {
public:
  ConcurrentFlows(const std::vector<FlowUnderTest>& flows, std::size_t num_warm_ups,
                  const FlowOptions& options)
      : flows_(flows), options_(options) {
    for (const auto& [flow, kernels] : flows) {
      flow->prepare();
      loops_.push_back(std::make_unique<GateLoop>(
          flow->context(), kernels,
          std::vector<GateLoop::Enqueue>{[flow](CUstream stream) { flow->enqueue(stream); }},
          GateLoopOptions{options.gate_timeout, num_warm_ups}));
      first_calls_.push_back(loops_.back()->first_call());
    }
  }

  GateLoop& loop(std::size_t index) { return *loops_[index]; }
  double first_call(std::size_t index) const { return first_calls_[index]; }
  std::size_t size() const { return loops_.size(); }

  void release_all() {
    for (const auto& loop : loops_) loop->release();
  }
  void wait_for_all() {
    for (const auto& loop : loops_) loop->wait();
  }
  /// Compares all targets, unless the options say otherwise.
  VerifiedOn verify_all() const {
    if (!options_.stopping.verify) return VerifiedOn::nobody;
    VerifiedOn where = VerifiedOn::host;
    for (const FlowUnderTest& each : flows_) where = each.flow->verify();
    return where;
  }
  void poison_all() const {
    for (const FlowUnderTest& each : flows_) each.flow->poison();
  }

  /// Samples one flow by itself and verifies it. Returns the number of copies in a sample.
  std::size_t sample_alone(std::size_t index, const char* metric, Measurement& measurement) {
    Flow& flow = *flows_[index].flow;
    GateLoop& loop = *loops_[index];
    measurement.first_call_seconds = first_calls_[index];
    const std::size_t num_copies = loop.calibrate(first_calls_[index], kSampleSize);
    flow.poison();
    Samples samples =
        sample(options_.stopping, metric, num_copies, [&] { return loop.run(num_copies); });
    measurement.verified_on = options_.stopping.verify ? flow.verify() : VerifiedOn::nobody;
    measurement.samples.push_back(std::move(samples));
    return num_copies;
  }

  /// Runs `num_copies` of each flow. Returns the seconds for one copy, by the CPU's clock.
  double run_all(std::size_t num_copies) {
    for (const auto& loop : loops_) loop->enqueue(num_copies);
    const auto start = Clock::now();
    release_all();
    wait_for_all();
    return seconds_since(start) / static_cast<double>(num_copies * size());
  }

private:
  const std::vector<FlowUnderTest>& flows_;
  const FlowOptions& options_;
  std::vector<double> first_calls_;
  std::vector<std::unique_ptr<GateLoop>> loops_;
};

/// Copies of one flow while the others run.
class UnderLoad {
public:
  UnderLoad(ConcurrentFlows& flows, std::size_t index, std::size_t num_copies)
      : flows_(flows), index_(index), num_copies_(num_copies) {}

  double one_sample() {
    for (int attempt = 0; attempt < kMaxVoidSamples; ++attempt) {
      const double seconds = run();
      if (covered()) return seconds;
      load_ = std::min(2 * load_, kMaxLoad);
    }
    throw Unavailable("load on all devices",
                      "the others ended before the measured one with " + std::to_string(load_) +
                          " times its copies",
                      "devices whose links are less unlike each other");
  }

private:
  double run() {
    for (std::size_t i = 0; i < flows_.size(); ++i)
      flows_.loop(i).enqueue(i == index_ ? num_copies_ : num_copies_ * load_);
    flows_.release_all();
    flows_.wait_for_all();
    return flows_.loop(index_).seconds() / static_cast<double>(num_copies_);
  }

  /// All flows begin together, so a flow that took longer ran until the measured one ended.
  bool covered() {
    const double measured = flows_.loop(index_).seconds_with_warm_ups();
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      if (i != index_ && flows_.loop(i).seconds_with_warm_ups() < measured) return false;
    }
    return true;
  }

  ConcurrentFlows& flows_;
  std::size_t index_;
  std::size_t num_copies_;
  std::size_t load_ = kFirstLoad;
};

void require_equal_sizes(const std::vector<FlowUnderTest>& flows) {
  if (flows.empty()) throw UsageError("no flows to measure together");
  for (const FlowUnderTest& each : flows) {
    if (each.flow->size_bytes() != flows.front().flow->size_bytes()) {
      throw UsageError("flows that are measured together copy the same number of bytes");
    }
  }
}

}  // namespace

Measurement measure_flow(const FlowUnderTest& flow, const FlowOptions& options) {
  const std::vector<FlowUnderTest> flows{flow};
  Measurement measurement;
  ConcurrentFlows(flows, warm_ups_for(*flow.flow), options)
      .sample_alone(0, "copy_time", measurement);
  return measurement;
}

Measurement measure_under_load(const std::vector<FlowUnderTest>& flows, std::size_t index,
                               const FlowOptions& options) {
  if (flows.size() < 2 || index >= flows.size()) {
    throw UsageError("flow " + std::to_string(index) + " under load: there are " +
                     std::to_string(flows.size()) + " flows, of which one is loaded by the others");
  }
  ConcurrentFlows running(flows, warm_ups_for(*flows[index].flow), options);
  Measurement measurement;
  const std::size_t num_copies = running.sample_alone(index, "alone", measurement);
  UnderLoad under_load(running, index, num_copies);
  under_load.one_sample();  // discarded: it finds a load that lasts long enough
  running.poison_all();
  Samples samples =
      sample(options.stopping, "copy_time", num_copies, [&] { return under_load.one_sample(); });
  measurement.verified_on = running.verify_all();
  measurement.samples.push_back(std::move(samples));
  return measurement;
}

Measurement measure_aggregate(const std::vector<FlowUnderTest>& flows, const FlowOptions& options,
                              const char* metric) {
  require_equal_sizes(flows);
  ConcurrentFlows running(flows, 0, options);
  const auto size = static_cast<double>(running.size());
  Measurement measurement;
  measurement.first_call_seconds = running.first_call(0);
  const std::size_t num_copies =
      calibrate(kSampleSize, running.first_call(0),
                [&](std::size_t num_tried) { return running.run_all(num_tried) * size; });
  running.poison_all();
  Samples samples = sample(options.stopping, metric, num_copies * running.size(),
                           [&] { return running.run_all(num_copies); });
  measurement.verified_on = running.verify_all();
  measurement.samples.push_back(std::move(samples));
  return measurement;
}

}  // namespace isthmus::measure
