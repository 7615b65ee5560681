#include "measure/bandwidth/all_at_once.hpp"

#include <algorithm>
#include <memory>

#include <isthmus/errors.hpp>

#include "measure/loops/held_flow.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

/// Devices begin within a few microseconds of each other: that must not count.
constexpr double kSampleSeconds = 10e-3;
constexpr std::size_t kMaxCopies = 128;  // four times as many are enqueued at most
/// Others run so many times as many copies as the measured one, and more if they end first.
constexpr std::size_t kFirstLoad = 2;
constexpr std::size_t kMaxLoad = 4;
constexpr int kMaxVoidSamples = 20;
constexpr std::size_t kLargeBytes = std::size_t{32} << 20U;  // such a copy warms itself up

std::size_t warm_ups_for(const Flow& flow) { return flow.size_bytes() < kLargeBytes ? 4 : 1; }

std::size_t copies_for(double one_copy_seconds) {
  const double wanted = kSampleSeconds / std::max(one_copy_seconds, 1e-9);
  return std::clamp(static_cast<std::size_t>(wanted), std::size_t{1}, kMaxCopies);
}

/// Of the first copy, by the CPU's clock. Behind no gate: a kernel that is loaded only when it is
/// launched would wait for it.
double first_call_seconds(const Flow& flow) {
  const CurrentContext current(flow.context());
  const Stream stream(flow.context());
  const auto start = Clock::now();
  flow.enqueue(stream.handle());
  stream.synchronize();
  return seconds_since(start);
}

/// All flows with their gates, ready to begin together.
class Company {
public:
  Company(const std::vector<FlowInCompany>& flows, const CompanyOptions& options) : flows_(flows) {
    for (const FlowInCompany& each : flows) {
      each.flow->prepare();
      first_calls_.push_back(first_call_seconds(*each.flow));
      held_.push_back(std::make_unique<HeldFlow>(*each.flow, each.kernels, options.gate_timeout));
    }
  }

  HeldFlow& held(std::size_t index) { return *held_[index]; }
  Flow& flow(std::size_t index) const { return *flows_[index].flow; }
  double first_call(std::size_t index) const { return first_calls_[index]; }
  std::size_t size() const { return held_.size(); }

  void begin_all() {
    for (const auto& each : held_) each->release();
  }
  void await_all() {
    for (const auto& each : held_) each->wait();
  }
  /// Compares all targets, unless nobody is to.
  VerifiedOn verify_all(const CompanyOptions& options) const {
    if (!options.stopping.verify) return VerifiedOn::nobody;
    VerifiedOn where = VerifiedOn::host;
    for (const FlowInCompany& each : flows_) where = each.flow->verify();
    return where;
  }
  void poison_all() const {
    for (const FlowInCompany& each : flows_) each.flow->poison();
  }

private:
  const std::vector<FlowInCompany>& flows_;
  std::vector<double> first_calls_;
  std::vector<std::unique_ptr<HeldFlow>> held_;
};

double seconds_alone(HeldFlow& held, std::size_t num_warm_ups, std::size_t num_copies) {
  held.enqueue(num_warm_ups, num_copies);
  held.release();
  held.wait();
  return held.seconds_of_copies() / static_cast<double>(num_copies);
}

/// Samples one flow by itself, verified. Returns how many copies a sample had.
std::size_t sample_alone(Flow& flow, HeldFlow& held, const char* metric,
                         const CompanyOptions& options, Measurement& measurement) {
  const std::size_t num_warm_ups = warm_ups_for(flow);
  // Two voided samples: the first pays for lazy loading, the second says how long a copy takes.
  seconds_alone(held, num_warm_ups, 1);
  const std::size_t num_copies = copies_for(seconds_alone(held, num_warm_ups, 1));
  flow.poison();
  Samples samples = sample(options.stopping, metric, num_copies,
                           [&] { return seconds_alone(held, num_warm_ups, num_copies); });
  measurement.verified_on = options.stopping.verify ? flow.verify() : VerifiedOn::nobody;
  measurement.samples.push_back(std::move(samples));
  return num_copies;
}

/// One flow's copies while the others run theirs.
class UnderLoad {
public:
  UnderLoad(Company& company, std::size_t index, std::size_t num_copies)
      : company_(company), index_(index), num_copies_(num_copies) {}

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
    const std::size_t num_warm_ups = warm_ups_for(company_.flow(index_));
    for (std::size_t i = 0; i < company_.size(); ++i) {
      const bool measured = i == index_;
      company_.held(i).enqueue(num_warm_ups, measured ? num_copies_ : num_copies_ * load_);
    }
    company_.begin_all();
    company_.await_all();
    return company_.held(index_).seconds_of_copies() / static_cast<double>(num_copies_);
  }

  /// They began together, so that one that took longer was there to the end.
  bool covered() {
    const double measured = company_.held(index_).seconds_of_all();
    for (std::size_t i = 0; i < company_.size(); ++i) {
      if (i != index_ && company_.held(i).seconds_of_all() < measured) return false;
    }
    return true;
  }

  Company& company_;
  std::size_t index_;
  std::size_t num_copies_;
  std::size_t load_ = kFirstLoad;
};

double seconds_together(Company& company, std::size_t num_copies) {
  for (std::size_t i = 0; i < company.size(); ++i) company.held(i).enqueue(0, num_copies);
  const auto start = Clock::now();
  company.begin_all();
  company.await_all();
  return seconds_since(start) / static_cast<double>(num_copies * company.size());
}

void require_equal_sizes(const std::vector<FlowInCompany>& flows) {
  if (flows.empty()) throw UsageError("no flows to measure together");
  for (const FlowInCompany& each : flows) {
    if (each.flow->size_bytes() != flows.front().flow->size_bytes()) {
      throw UsageError("flows that are measured together copy the same number of bytes");
    }
  }
}

}  // namespace

Measurement measure_flow(const FlowInCompany& flow, const CompanyOptions& options) {
  const std::vector<FlowInCompany> flows{flow};
  Company company(flows, options);
  Measurement measurement;
  measurement.first_call_seconds = company.first_call(0);
  sample_alone(*flow.flow, company.held(0), "copy_time", options, measurement);
  return measurement;
}

Measurement measure_under_load(const std::vector<FlowInCompany>& flows, std::size_t index,
                               const CompanyOptions& options) {
  if (flows.size() < 2 || index >= flows.size()) {
    throw UsageError("flow " + std::to_string(index) + " under load: there are " +
                     std::to_string(flows.size()) + " flows, of which one is loaded by the others");
  }
  Company company(flows, options);
  Measurement measurement;
  measurement.first_call_seconds = company.first_call(index);
  const std::size_t num_copies =
      sample_alone(company.flow(index), company.held(index), "alone", options, measurement);
  UnderLoad under_load(company, index, num_copies);
  under_load.one_sample();  // voided: it finds the load that lasts
  company.poison_all();
  Samples samples =
      sample(options.stopping, "copy_time", num_copies, [&] { return under_load.one_sample(); });
  measurement.verified_on = company.verify_all(options);
  measurement.samples.push_back(std::move(samples));
  return measurement;
}

Measurement measure_aggregate(const std::vector<FlowInCompany>& flows,
                              const CompanyOptions& options, const char* metric) {
  require_equal_sizes(flows);
  Company company(flows, options);
  Measurement measurement;
  measurement.first_call_seconds = company.first_call(0);
  seconds_together(company, 1);
  const double one_copy_seconds =
      seconds_together(company, 1) * static_cast<double>(company.size());
  const std::size_t num_copies = copies_for(one_copy_seconds);
  company.poison_all();
  Samples samples = sample(options.stopping, metric, num_copies * company.size(),
                           [&] { return seconds_together(company, num_copies); });
  measurement.verified_on = company.verify_all(options);
  measurement.samples.push_back(std::move(samples));
  return measurement;
}

}  // namespace isthmus::measure
