#include "sim/cores/cores.hpp"

#include <algorithm>
#include <bit>

namespace isthmus::sim {
namespace {

std::uint32_t l1_sets(const ModelledMachine& machine) {
  if (machine.l1.size_bytes == 0) return 0;
  return static_cast<std::uint32_t>(machine.l1.size_bytes / trace::kLineBytes / machine.l1.ways);
}

}  // namespace

Picoseconds unit_line_ps(const ModelledMachine& machine) {
  const std::uint32_t lines = std::min(machine.cores.lines_per_cycle, machine.tlb.ports);
  return (cycle_ps(machine.cores.clock_hz) + lines - 1) / lines;
}

Core::Core(const ModelledMachine& machine)
    : queue(machine.cores.max_warps),
      warps(machine.cores.max_warps),
      ctas(machine.cores.max_ctas),
      tlb(machine.tlb.entries, machine.tlb.ways),
      l1(l1_sets(machine), machine.l1.ways, true),
      misses(machine.l1.misses),
      waiters(std::size_t{machine.l1.misses} * machine.l1.merges),
      fills(machine.l1.misses) {
  for (std::uint32_t miss = machine.l1.misses; miss-- > 0;) {
    free_misses.push_back(static_cast<std::uint16_t>(miss));
  }
  for (std::uint32_t warp = 0; warp < machine.cores.max_warps; ++warp) {
    free_warps.push_back(static_cast<std::uint16_t>(warp));
  }
}

// NOLINTNEXTLINE(readability-function-size): the parts of a run that it works with
Cores::Cores(const ModelledMachine& machine, Picoseconds lookahead_ps, const AddressMap& map,
             Residency& residency, CtaFeed& feed, std::size_t num_streams, Schedule& schedule,
             Result& result, Observer* observer)
    : machine_(machine),
      map_(map),
      residency_(residency),
      schedule_(schedule),
      result_(result),
      observer_(observer),
      lookahead_ps_(lookahead_ps),
      cycle_ps_(cycle_ps(machine.cores.clock_hz)),
      dependent_issue_ps_(machine.cores.dependent_issue_cycles * cycle_ps_),
      unit_line_ps_(unit_line_ps(machine)),
      network_ps_(machine.network.latency_cycles * cycle_ps_),
      l1_hit_ps_(machine.l1.hit_cycles * cycle_ps_),
      warps_per_core_(machine.cores.max_warps),
      l1_sets_(l1_sets(machine)),
      l1_sets_are_power_of_two_(l1_sets_ == 0 || std::has_single_bit(l1_sets_)),
      stores_wait_(machine.faults.handling == Handling::lanes),
      max_stores_(machine.cores.stores == 0 ? ~0U : machine.cores.stores),
      issue_shift_(std::has_single_bit(machine.cores.issue_per_cycle)
                       ? static_cast<std::uint32_t>(std::countr_zero(machine.cores.issue_per_cycle))
                       : kNoShift),
      walker_free_ps_(machine.tlb.walkers, 0),
      feed_(feed),
      ledger_(result, num_streams),
      kernels_(num_streams) {
  cores_.assign(machine.cores.count, Core(machine));
  if (machine.tlb.shared_entries != 0) {
    shared_tlb_.emplace_back(machine.tlb.shared_entries, machine.tlb.shared_ways);
  }
}

void Cores::on_warp_ready(std::uint32_t warp) {
  const Position at = position(warp);
  ledger_.charge(at.warp.stream);
  const Picoseconds now = schedule_.now_ps();
  if (at.warp.operation->ends_window) [[unlikely]]
    begin_window(at);
  const Operation& operation = *at.warp.operation;
  const std::uint64_t instructions =
      std::uint64_t{operation.compute} + (operation.kind == trace::OpKind::end ? 0U : 1U);
  Picoseconds done = now;
  if (instructions != 0) {
    at.core.issue_free_ps = std::max(at.core.issue_free_ps, now) + issue_slots_ps(instructions);
    done = std::max(now + instructions * dependent_issue_ps_, at.core.issue_free_ps);
  }
  result_.warp_instructions += instructions;
  result_.stalls.issue_ps += done - now;
  __builtin_prefetch(at.warp.lines + operation.first_line);
  schedule_.at(done, EventKind::execute, warp);
}

void Cores::on_execute(std::uint32_t warp) {
  const Position at = position(warp);
  const Picoseconds now = schedule_.now_ps();
  at.warp.since_ps = now;
  at.warp.ready_ps = now;
  const Operation& operation = *at.warp.operation;
  if (operation.kind == trace::OpKind::end) return end_warp(at);
  if (operation.kind == trace::OpKind::barrier) return reach_barrier(at);
  at.warp.line = operation.first_line;
  at.warp.pending = 1;
  at.warp.translation_ps = 0;
  at.warp.migration_ps = 0;
  Core& core = at.core;
  const std::uint32_t place = core.queue_first + core.queue_size;
  core.queue[place < warps_per_core_ ? place : place - warps_per_core_] = at.warp_index;
  ++core.queue_size;
  if (!core.stalled) run_unit(core, at.core_index);
}

void Cores::on_resume(std::uint32_t core) {
  Core& stalled = cores_[core];
  // An earlier event has replaced this one.
  if (!stalled.stalled || stalled.resume_ps != schedule_.now_ps()) return;
  stalled.stalled = false;
  run_unit(stalled, core);
}

void Cores::served(std::uint32_t core_index, std::uint32_t miss_index, Served served) {
  Core& core = cores_[core_index];
  Miss& miss = core.misses[miss_index];
  core.fills.insert({served.time_ps, miss_index});
  if (miss.l1_way != CacheSets::kNowhere) core.l1.set_filled_ps(miss.l1_way, served.time_ps);
  const std::uint16_t* const waiters = &core.waiters[std::size_t{miss_index} * machine_.l1.merges];
  for (std::uint32_t i = 0; i < miss.num_waiters; ++i) {
    const Position at{core, core_index, core.warps[waiters[i]], waiters[i]};
    line_here(at, served.time_ps, miss.translation_ps, served.migration_ps);
    if (--at.warp.pending == 0) end_operation(at);
  }
  miss.num_waiters = 0;
  if (core.stalled) wake(core, core_index, served.time_ps);
}

// A stalled unit continues at `time_ps`, unless it does so before.
void Cores::wake(Core& core, std::uint32_t core_index, Picoseconds time_ps) {
  if (time_ps >= core.wake_before_ps) return;
  core.resume_ps = time_ps;
  core.wake_before_ps = time_ps;
  schedule_.at(time_ps, EventKind::resume, core_index);
}

void Cores::end_operation(const Position& at) {
  Warp& warp = at.warp;
  ledger_.charge(warp.stream);
  // A line that another warp requested earlier may have waited longer than this warp.
  const Picoseconds waited = warp.ready_ps - warp.since_ps;
  const Picoseconds migration = std::min(warp.migration_ps, waited);
  const Picoseconds translation = std::min(warp.translation_ps, waited - migration);
  result_.stalls.migration_ps += migration;
  result_.stalls.translation_ps += translation;
  result_.stalls.memory_ps += waited - migration - translation;
  ++warp.operation;
  __builtin_prefetch(warp.operation + 1);
  schedule_.at(warp.ready_ps, EventKind::warp_ready, number(at.core_index, at.warp_index));
}

}  // namespace isthmus::sim
