#include "measure/loops/gate_loop.hpp"

#include <algorithm>
#include <utility>

#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

// Half of the ~1000 operations that a held stream can queue: further ones would block.
constexpr std::size_t kMaxLaunches = 512;

}  // namespace

GateLoop::GateLoop(const Context& context, const Kernels* kernels, std::vector<Enqueue> copies,
                   const GateLoopOptions& options)
    : context_(context),
      copies_(std::move(copies)),
      max_held_(std::max(kMaxLaunches / options.launches_a_copy, std::size_t{1})),
      num_warm_ups_(std::min(options.num_warm_ups, max_held_ / 2)),
      start_(context, kernels, copies_.size(), options.gate_timeout) {}

double GateLoop::first_call(std::size_t num_streams) {
  const CurrentContext current(context_);
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < num_streams; ++i) copies_[i](start_.stream(i).handle());
  for (std::size_t i = 0; i < num_streams; ++i) start_.stream(i).synchronize();
  return seconds_since(begin);
}

std::size_t GateLoop::calibrate(double first_call_seconds, const SampleSize& size) {
  SampleSize held = size;
  held.max_repetitions = std::min(size.max_repetitions, max_held_ - num_warm_ups_);
  return measure::calibrate(held, first_call_seconds,
                            [this](std::size_t num_copies) { return run(num_copies); });
}

double GateLoop::run(std::size_t num_copies) {
  enqueue(num_copies);
  release();
  wait();
  return makespan_seconds() / static_cast<double>(num_copies);
}

void GateLoop::enqueue(std::size_t num_copies, std::size_t load_ratio) {
  const CurrentContext current(context_);
  start_.hold();
  enqueue_in(0, num_warm_ups_);
  start_.mark_start();
  enqueue_in(0, num_copies);
  enqueue_in(1, num_copies * (load_ratio - 1));
  start_.mark_end();
}

/// Enqueues to the streams in turn, so that none waits long for its first copy.
void GateLoop::enqueue_in(std::size_t first_stream, std::size_t num_copies) {
  for (std::size_t copy = 0; copy < num_copies; ++copy) {
    for (std::size_t i = first_stream; i < copies_.size(); ++i)
      copies_[i](start_.stream(i).handle());
  }
}

void GateLoop::wait() const {
  const CurrentContext current(context_);
  start_.wait();
}

double GateLoop::seconds(std::size_t stream) const {
  const CurrentContext current(context_);
  return start_.seconds(stream);
}

double GateLoop::seconds_with_warm_ups(std::size_t stream) const {
  const CurrentContext current(context_);
  return start_.seconds_with_warm_ups(stream);
}

double GateLoop::makespan_seconds() const {
  const CurrentContext current(context_);
  return start_.makespan_seconds();
}

}  // namespace isthmus::measure
