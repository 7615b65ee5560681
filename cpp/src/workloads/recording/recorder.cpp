#include "workloads/recording/recorder.hpp"

#include <utility>

namespace isthmus::workloads {

Recorder::Recorder(std::unique_ptr<Workload> workload) : workload_(std::move(workload)) {
  Recorder::rewind();
}

void Recorder::rewind() {
  workload_->reset();
  launch_ = 0;
  next_cta_ = 0;
  thread_instructions_ = 0;
}

std::optional<trace::Block> Recorder::next() {
  const std::vector<trace::Launch>& launches = program().launches;
  if (launch_ == launches.size()) return std::nullopt;
  block_.clear();
  const std::uint32_t launch = launch_;
  const std::uint32_t first_cta = next_cta_;
  if (first_cta == 0) workload_->before(launch);
  const std::uint32_t num_ctas = launches[launch].num_ctas;
  while (next_cta_ < num_ctas && !block_.full()) run_cta(launch, next_cta_++);
  if (next_cta_ == num_ctas) {
    ++launch_;
    next_cta_ = 0;
  }
  return block_.block(launch, first_cta);
}

void Recorder::run_cta(std::uint32_t launch, std::uint32_t cta) {
  const trace::Launch& shape = program().launches[launch];
  if (logs_.size() < shape.warps_per_cta) logs_.resize(shape.warps_per_cta);
  Cta runner(cta, shape.threads_per_cta, logs_);
  workload_->run(launch, runner);
  for (std::uint32_t warp = 0; warp < shape.warps_per_cta; ++warp) {
    logs_[warp].without_lines(trace::OpKind::end, Mask{0});
    const WarpLog& log = logs_[warp];
    block_.add_warp(log.kinds(), log.compute(), log.line_ends(), log.lines());
    thread_instructions_ += log.thread_instructions();
    logs_[warp].clear();
  }
  block_.end_cta();
}

}  // namespace isthmus::workloads
