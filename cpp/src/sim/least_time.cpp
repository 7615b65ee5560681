#include "sim/least_time.hpp"

#include <algorithm>

#include "sim/cores/cores.hpp"
#include "trace/checking.hpp"

namespace isthmus::sim {

LeastTime::LeastTime(const ModelledMachine& machine, trace::Source& source)
    : machine_(machine),
      source_(source),
      cycle_ps_(cycle_ps(machine.cores.clock_hz)),
      dependent_issue_ps_(machine.cores.dependent_issue_cycles * cycle_ps_),
      line_ps_(unit_line_ps(machine)),
      atomic_ps_(machine.network.latency_cycles * cycle_ps_ * 2),
      load_ps_(atomic_ps_) {
  if (machine.l1.size_bytes != 0) {
    load_ps_ = std::min(load_ps_, machine.l1.hit_cycles * cycle_ps_);
  }
}

std::optional<trace::Block> LeastTime::next() {
  auto block = source_.next();
  if (block) add(*block);
  return block;
}

void LeastTime::rewind() {
  source_.rewind();
  launches_.clear();
}

void LeastTime::add(const trace::Block& block) {
  // The run refuses a block of another program.
  if (block.launch >= program().launches.size()) return;
  if (block.launch >= launches_.size()) launches_.resize(block.launch + 1);
  Launch& launch = launches_[block.launch];
  const std::size_t num_warps =
      std::size_t{block.num_ctas} * program().launches[block.launch].warps_per_cta;
  for (std::size_t warp = 0; warp < num_warps; ++warp) {
    const std::uint32_t first = block.op_begin[warp];
    const std::uint32_t end = block.op_begin[warp + 1];
    std::uint64_t instructions = 0;
    Picoseconds waits_ps = 0;
    for (std::uint32_t op = first; op < end; ++op) {
      const auto kind = static_cast<trace::OpKind>(block.kinds[op]);
      instructions += std::uint64_t{block.compute[op]} + (kind == trace::OpKind::end ? 0U : 1U);
      waits_ps += wait_ps(kind, block.line_begin[op + 1] - block.line_begin[op]);
    }
    const Picoseconds warp_ps = instructions * dependent_issue_ps_ + waits_ps;
    launch.instructions += instructions;
    launch.lines += block.line_begin[end] - block.line_begin[first];
    launch.longest_warp_ps = std::max(launch.longest_warp_ps, warp_ps);
    launch.warps_ps += warp_ps;
  }
}

Picoseconds LeastTime::wait_ps(trace::OpKind kind, std::uint32_t num_lines) const {
  if (num_lines == 0) return 0;
  switch (kind) {
    case trace::OpKind::load:
    case trace::OpKind::local_load:
      return (num_lines - 1) * line_ps_ + load_ps_;
    case trace::OpKind::atomic:
      return (num_lines - 1) * line_ps_ + atomic_ps_;
    default:
      return num_lines * line_ps_;
  }
}

Picoseconds LeastTime::of_launch(const Launch& done, const trace::Launch& launch) const {
  const std::uint64_t cores = machine_.cores.count;
  std::uint64_t ctas = machine_.cores.max_ctas;
  if (launch.max_ctas_per_sm != 0) ctas = std::min<std::uint64_t>(ctas, launch.max_ctas_per_sm);
  const std::uint64_t warps =
      std::clamp<std::uint64_t>(ctas * launch.warps_per_cta, 1, machine_.cores.max_warps);
  return std::max({done.instructions * cycle_ps_ / (cores * machine_.cores.issue_per_cycle),
                   done.lines * line_ps_ / cores, done.longest_warp_ps,
                   static_cast<Picoseconds>(done.warps_ps / (Wide{cores} * warps))});
}

Picoseconds LeastTime::total_ps() const {
  const auto streams = trace::number_streams(program());
  std::vector<Picoseconds> of_stream(std::max<std::size_t>(1, streams.size()));
  Launch all;
  for (std::size_t index = 0; index < launches_.size(); ++index) {
    const trace::Launch& launch = program().launches[index];
    of_stream[streams.at(launch.stream)] +=
        machine_.launch.latency_ps + of_launch(launches_[index], launch);
    all.instructions += launches_[index].instructions;
    all.lines += launches_[index].lines;
  }
  const Picoseconds longest = *std::ranges::max_element(of_stream);
  if (of_stream.size() == 1) return longest;
  const std::uint64_t cores = machine_.cores.count;
  return std::max({longest, all.lines * line_ps_ / cores,
                   all.instructions * cycle_ps_ / (cores * machine_.cores.issue_per_cycle)});
}

}  // namespace isthmus::sim
