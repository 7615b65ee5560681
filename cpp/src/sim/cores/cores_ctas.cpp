// Start and end of CTAs; barriers.
// TLBs and page walks.
#include <algorithm>
#include <string>
#include <utility>

#include <isthmus/errors.hpp>

#include "sim/cores/cores.hpp"

namespace isthmus::sim {

void Cores::begin_launch(const trace::Launch& launch, CtaFeed& feed, LaunchStart start,
                         bool empty_l1) {
  launch_ = &launch;
  feed_ = &feed;
  launch_start_ = std::move(start);
  slots_per_core_ =
      std::min(machine_.cores.max_ctas, warps_per_core_ / std::max(1U, launch.warps_per_cta));
  if (launch.max_ctas_per_sm != 0) {
    slots_per_core_ = std::min(slots_per_core_, launch.max_ctas_per_sm);
  }
  if (slots_per_core_ == 0) {
    throw UsageError("a CTA of launch '" + launch.name + "' has " +
                     std::to_string(launch.warps_per_cta) + " warps, and a core has room for " +
                     std::to_string(warps_per_core_) + " (cores.max_warps)");
  }
  if (empty_l1) {
    for (Core& core : cores_) core.l1.clear();
  }
  drop_large_work();
  fill_cores();
}

// Frees memory of an earlier launch that exceeds the present launch's limit for a slot.
void Cores::drop_large_work() {
  const std::size_t most = CtaFeed::max_held_bytes(cores_.size(), slots_per_core_);
  for (Core& core : cores_) {
    for (std::size_t slot = 0; slot < core.ctas.size(); ++slot) {
      CtaWork& work = core.ctas[slot].work;
      if (slot >= slots_per_core_ || work.held_bytes() > most) work = {};
    }
  }
}

void Cores::fill_cores() {
  for (std::uint32_t slot = 0; slot < slots_per_core_; ++slot) {
    for (std::uint32_t core = 0; core < cores_.size(); ++core) {
      if (!start_cta(core, slot)) return;
    }
  }
}

bool Cores::start_cta(std::uint32_t core_index, std::uint32_t slot_index) {
  Core& core = cores_[core_index];
  CtaSlot& slot = core.ctas[slot_index];
  const CtaPlace place{core_index, slot_index, static_cast<std::uint32_t>(cores_.size()),
                       slots_per_core_};
  const auto cta = feed_->next(place, slot.work);
  if (!cta) return false;
  slot.number = *cta;
  slot.running_warps = launch_->warps_per_cta;
  slot.at_barrier = 0;
  slot.start_ps = std::max(schedule_.now_ps(), launch_start_.time_ps);
  // It keeps its slot while it waits: no later CTA may begin earlier.
  if (launch_start_.cta_ps) slot.start_ps = std::max(slot.start_ps, launch_start_.cta_ps(*cta));
  for (std::uint32_t warp = 0; warp < launch_->warps_per_cta; ++warp) {
    const std::uint32_t index = slot_index * launch_->warps_per_cta + warp;
    core.warps[index] = Warp{};
    const WarpWork begin = feed_->begin(slot.work, warp);
    core.warps[index].operation = begin.operation;
    core.warps[index].lines = begin.lines;
    core.warps[index].cta_slot = static_cast<std::uint16_t>(slot_index);
    core.warps[index].running = true;
    schedule_.at(slot.start_ps, EventKind::warp_ready, number(core_index, index));
  }
  ++running_ctas_;
  ++result_.num_ctas;
  return true;
}

void Cores::end_warp(const Position& at) {
  at.warp.running = false;
  const std::uint32_t slot_index = at.warp.cta_slot;
  CtaSlot& slot = at.core.ctas[slot_index];
  if (--slot.running_warps != 0) {
    // A barrier doesn't wait for warps that have ended.
    if (slot.at_barrier == slot.running_warps) release_barrier(at.core, at.core_index, slot_index);
    return;
  }
  --running_ctas_;
  if (observer_ != nullptr) {
    observer_->cta_done(at.core_index, slot.number, {slot.start_ps, schedule_.now_ps()});
  }
  start_cta(at.core_index, slot_index);
}

void Cores::begin_window(const Position& at) {
  CtaWork& work = at.core.ctas[at.warp.cta_slot].work;
  const WarpWork next = feed_->next_window(work, at.warp_index % launch_->warps_per_cta);
  at.warp.operation = next.operation;
  at.warp.lines = next.lines;
}

void Cores::reach_barrier(const Position& at) {
  at.warp.at_barrier = true;
  CtaSlot& slot = at.core.ctas[at.warp.cta_slot];
  if (++slot.at_barrier == slot.running_warps) {
    release_barrier(at.core, at.core_index, at.warp.cta_slot);
  }
}

void Cores::release_barrier(Core& core, std::uint32_t core_index, std::uint32_t slot) {
  if (core.ctas[slot].at_barrier == 0) return;
  core.ctas[slot].at_barrier = 0;
  const std::uint32_t first = slot * launch_->warps_per_cta;
  const Picoseconds now = schedule_.now_ps();
  for (std::uint32_t index = first; index < first + launch_->warps_per_cta; ++index) {
    Warp& warp = core.warps[index];
    if (!warp.running || !warp.at_barrier) continue;
    warp.at_barrier = false;
    result_.stalls.barrier_ps += now - warp.since_ps;
    ++warp.operation;
    on_warp_ready(number(core_index, index));
  }
}

std::string Cores::waiting_warps(std::size_t most) const {
  std::string text;
  std::size_t found = 0;
  for (std::size_t core = 0; core < cores_.size(); ++core) {
    for (std::size_t index = 0; index < cores_[core].warps.size(); ++index) {
      const Warp& warp = cores_[core].warps[index];
      if (!warp.running || found++ >= most) continue;
      const CtaSlot& slot = cores_[core].ctas[warp.cta_slot];
      text += (text.empty() ? "" : "; ");
      text += "warp " + std::to_string(index % launch_->warps_per_cta) + " of CTA " +
              std::to_string(slot.number) + " on core " + std::to_string(core);
      text += warp.at_barrier ? " waits at a barrier"
                              : " waits for " + std::to_string(warp.pending) +
                                    (warp.pending == 1 ? " line" : " lines");
    }
  }
  if (found > most) text += "; and " + std::to_string(found - most) + " more";
  return text;
}

void Cores::on_translate(const LineRequest& request) {
  Core& core = cores_[request.core];
  const Picoseconds now = schedule_.now_ps();
  const std::uint64_t key = asked(request.place).page;
  const std::uint32_t entry = core.tlb.find(key);
  Picoseconds ready = entry == Lookaside::kAbsent ? kNever : core.tlb.ready_ps(entry);
  if (ready == kNever) {
    ready = look_up_shared(key, now);
    if (entry != Lookaside::kAbsent) core.tlb.set_ready_ps(entry, ready);
  }
  ready = std::max(ready, now);
  const auto after = static_cast<AfterTranslation>(request.note);
  if (after == AfterTranslation::l1_hit) {
    if (request.waiter == kNobody) return;
    const Position at{core, request.core, core.warps[request.waiter], request.waiter};
    line_here(at, ready + l1_hit_ps_, ready - now, 0);
    if (--at.warp.pending == 0) end_operation(at);
    return;
  }
  if (after != AfterTranslation::store) core.misses[request.waiter].translation_ps = ready - now;
  const auto kind =
      static_cast<EventKind>(static_cast<std::uint32_t>(EventKind::load) + request.note);
  schedule_.at(ready + network_ps_, {kind, request.core, request.waiter, request.place, 1});
}

Picoseconds Cores::look_up_shared(std::uint64_t key, Picoseconds time_ps) {
  if (shared_tlb_.empty()) return walk(time_ps);
  Lookaside& tlb = shared_tlb_.front();
  ++result_.tlb.shared_accesses;
  const Picoseconds looked_up = time_ps + machine_.tlb.shared_cycles * cycle_ps_;
  std::uint32_t entry = tlb.find(key);
  if (entry != Lookaside::kAbsent && tlb.ready_ps(entry) <= looked_up) return looked_up;
  ++result_.tlb.shared_misses;
  if (entry == Lookaside::kAbsent) {
    entry = tlb.insert(key);
    tlb.set_ready_ps(entry, walk(looked_up));
  }
  return tlb.ready_ps(entry);
}

Picoseconds Cores::walk(Picoseconds time_ps) {
  const Picoseconds takes = machine_.tlb.walk_cycles * cycle_ps_;
  if (walker_free_ps_.empty()) return time_ps + takes;
  const auto first = std::ranges::min_element(walker_free_ps_);
  *first = std::max(*first, time_ps) + takes;
  return *first;
}

}  // namespace isthmus::sim
