#include "measure/loops/common_start.hpp"

#include <algorithm>

#include <isthmus/errors.hpp>

namespace isthmus::measure {

CommonStart::CommonStart(const Context& context, const Kernels* kernels, std::size_t num_streams,
                         std::chrono::duration<double> timeout)
    : context_(context),
      opened_(context),
      start_(context),
      gate_(std::make_unique<Gate>(context, kernels, timeout)) {
  if (num_streams == 0) throw UsageError("a common start needs at least 1 stream, got 0");
  for (std::size_t i = 0; i < num_streams; ++i) {
    streams_.emplace_back(context);
    ready_.emplace_back(context, Event::Timing::disabled);
    ends_.emplace_back(context);
  }
}

CommonStart::~CommonStart() {
  gate_.reset();
  const Driver& driver = context_.driver();
  const CUresult pushed = driver.raw(symbol::ctx_push_current)(context_.handle());
  for (const Stream& stream : streams_) driver.raw(symbol::stream_synchronize)(stream.handle());
  CUcontext popped = nullptr;
  if (pushed == CUDA_SUCCESS) driver.raw(symbol::ctx_pop_current)(&popped);
}

void CommonStart::hold() {
  gate_->hold(streams_[0].handle());
  opened_.record(streams_[0].handle());
  for (std::size_t i = 1; i < streams_.size(); ++i) streams_[i].wait(opened_);
}

void CommonStart::mark_start() {
  for (std::size_t i = 1; i < streams_.size(); ++i) {
    ready_[i].record(streams_[i].handle());
    streams_[0].wait(ready_[i]);
  }
  start_.record(streams_[0].handle());
  for (std::size_t i = 1; i < streams_.size(); ++i) streams_[i].wait(start_);
}

void CommonStart::mark_end() {
  for (std::size_t i = 0; i < streams_.size(); ++i) ends_[i].record(streams_[i].handle());
}

void CommonStart::wait() const {
  for (const Event& end : ends_) end.synchronize();
}

double CommonStart::seconds(std::size_t index) const {
  return elapsed_seconds(context_, start_, ends_[index]);
}

double CommonStart::seconds_with_warm_ups(std::size_t index) const {
  return elapsed_seconds(context_, opened_, ends_[index]);
}

double CommonStart::makespan_seconds() const {
  double longest = 0;
  for (std::size_t i = 0; i < ends_.size(); ++i) longest = std::max(longest, seconds(i));
  return longest;
}

}  // namespace isthmus::measure
