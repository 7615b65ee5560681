#include "measure/loops/held_copies.hpp"

#include <algorithm>
#include <utility>

#include "measure/loops/repetitions.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

/// Half of the ~1000 operations that a stream queues while it is held: more would block.
constexpr std::size_t kMaxLaunches = 512;

}  // namespace

HeldCopies::HeldCopies(const Context& context, const Kernels* kernels, Enqueue enqueue,
                       std::size_t launches_a_copy, std::chrono::duration<double> gate_timeout)
    : enqueue_(std::move(enqueue)),
      max_held_(std::max(kMaxLaunches / launches_a_copy, std::size_t{1})),
      num_warm_ups_(std::min(kWarmUpRepetitions, max_held_ / 2)),
      stream_(context),
      first_(context),
      last_(context),
      gate_(std::make_unique<Gate>(context, kernels, gate_timeout)) {}

HeldCopies::~HeldCopies() {
  gate_.reset();
  stream_.context().driver().raw(symbol::stream_synchronize)(stream_.handle());
}

double HeldCopies::first_call() {
  const auto begin = Clock::now();
  enqueue_(stream_.handle());
  stream_.synchronize();
  const double seconds = seconds_since(begin);
  num_copies_ = std::min<std::size_t>(4, max_that_are_timed(seconds));
  one_sample();  // voided: lazy loading
  num_copies_ = max_that_are_timed(one_sample());
  return seconds;
}

std::size_t HeldCopies::max_that_are_timed(double one_seconds) const {
  return std::min(repetitions_for(one_seconds), max_held_ - num_warm_ups_);
}

double HeldCopies::one_sample() {
  gate_->hold(stream_.handle());
  for (std::size_t i = 0; i < num_warm_ups_; ++i) enqueue_(stream_.handle());
  first_.record(stream_.handle());
  for (std::size_t i = 0; i < num_copies_; ++i) enqueue_(stream_.handle());
  last_.record(stream_.handle());
  gate_->release();
  last_.synchronize();
  return elapsed_seconds(stream_.context(), first_, last_) / static_cast<double>(num_copies_);
}

}  // namespace isthmus::measure
