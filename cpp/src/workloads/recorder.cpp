#include "workloads/recorder.hpp"

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
  clear_block();
  trace::Block block;
  block.launch = launch_;
  block.first_cta = next_cta_;
  if (next_cta_ == 0) workload_->before(launch_);
  const std::uint32_t num_ctas = launches[launch_].num_ctas;
  while (next_cta_ < num_ctas && lines_.size() < kBlockLines && kinds_.size() < kBlockLines)
    run_cta(launch_, next_cta_++);
  block.num_ctas = next_cta_ - block.first_cta;
  block.op_begin = op_begin_;
  block.kinds = kinds_;
  block.compute = compute_;
  block.line_begin = line_begin_;
  block.lines = lines_;
  if (next_cta_ == num_ctas) {
    ++launch_;
    next_cta_ = 0;
  }
  return block;
}

void Recorder::run_cta(std::uint32_t launch, std::uint32_t cta) {
  const trace::Launch& shape = program().launches[launch];
  if (logs_.size() < shape.warps_per_cta) logs_.resize(shape.warps_per_cta);
  Cta runner(cta, shape.threads_per_cta, logs_);
  workload_->run(launch, runner);
  for (std::uint32_t warp = 0; warp < shape.warps_per_cta; ++warp) {
    logs_[warp].without_lines(trace::OpKind::end, Mask{0});
    append(logs_[warp]);
    logs_[warp].clear();
  }
}

void Recorder::append(const WarpLog& log) {
  const auto first_line = static_cast<std::uint32_t>(lines_.size());
  kinds_.insert(kinds_.end(), log.kinds().begin(), log.kinds().end());
  compute_.insert(compute_.end(), log.compute().begin(), log.compute().end());
  for (const std::uint32_t end : log.line_ends()) line_begin_.push_back(first_line + end);
  lines_.insert(lines_.end(), log.lines().begin(), log.lines().end());
  op_begin_.push_back(static_cast<std::uint32_t>(kinds_.size()));
  thread_instructions_ += log.thread_instructions();
}

void Recorder::clear_block() {
  op_begin_.assign(1, 0);
  kinds_.clear();
  compute_.clear();
  line_begin_.assign(1, 0);
  lines_.clear();
}

}  // namespace isthmus::workloads
