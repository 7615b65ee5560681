// Start and end of CTAs; barriers.
// TLBs and page walks.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include <isthmus/errors.hpp>

#include "sim/cores/cores.hpp"

namespace isthmus::sim {

void Cores::begin_launch(std::uint32_t stream, std::uint32_t launch, LaunchStart start,
                         bool empty_l1) {
  Kernel& kernel = kernels_[stream];
  kernel = {&feed_.program().launches[launch], launch, std::move(start)};
  const trace::Launch& of = *kernel.launch;
  std::uint32_t limit = machine_.cores.max_ctas;
  if (of.max_ctas_per_sm != 0) {
    limit = std::min(limit, of.max_ctas_per_sm);
    kernel.cta_share = kWholeShare / limit;
  }
  kernel.ctas_left = of.num_ctas;
  kernel.ctas_per_core = std::min(limit, warps_per_core_ / std::max(1U, of.warps_per_cta));
  if (kernel.ctas_per_core == 0) {
    throw UsageError("a CTA of launch '" + of.name + "' has " + std::to_string(of.warps_per_cta) +
                     " warps, and a core has room for " + std::to_string(warps_per_core_) +
                     " (cores.max_warps)");
  }
  if (running_launches_++ == 0 && empty_l1) {
    for (Core& core : cores_) core.l1.clear();
  }
  drop_large_work(slots_per_core(kernel));
  queue_.push_back(stream);
  fill_cores();
}

// Frees memory of earlier launches' CTAs that exceeds the present limit for a slot.
void Cores::drop_large_work(std::uint32_t slots_per_core) {
  const std::size_t most = CtaFeed::max_held_bytes(cores_.size(), slots_per_core);
  for (Core& core : cores_) {
    for (std::size_t slot = 0; slot < core.ctas.size(); ++slot) {
      CtaSlot& of = core.ctas[slot];
      if (of.running_warps != 0) continue;
      if (slot >= slots_per_core || of.work.held_bytes() > most) of.work = {};
    }
  }
}

void Cores::fill_cores() {
  for (bool any = true; any;) {
    any = false;
    for (std::uint32_t core = 0; core < cores_.size(); ++core) any = start_cta(core) || any;
  }
}

// Whatever one kernel alone may have on a core, all kernels may have together.
bool Cores::has_room(const Core& core, const Kernel& kernel) const {
  return core.num_ctas < machine_.cores.max_ctas &&
         core.free_warps.size() >= kernel.launch->warps_per_cta &&
         core.share_taken + kernel.cta_share <= kWholeShare;
}

// Starts a CTA of the launch that began first of those that have one left. No CTA of a later launch
// goes ahead of it, even if there is room for that one.
bool Cores::start_cta(std::uint32_t core_index) {
  if (queue_.empty()) return false;
  const std::uint32_t stream = queue_.front();
  Kernel& kernel = kernels_[stream];
  Core& core = cores_[core_index];
  if (!has_room(core, kernel)) return false;
  const auto free =
      std::ranges::find(core.ctas, 0U, [](const CtaSlot& slot) { return slot.running_warps; });
  const auto slot_index = static_cast<std::uint32_t>(free - core.ctas.begin());
  CtaSlot& slot = *free;
  const CtaPlace place{core_index, slot_index, static_cast<std::uint32_t>(cores_.size()),
                       slots_per_core(kernel), stream};
  slot.number = feed_.next(kernel.index, place, slot.work);
  slot.stream = stream;
  slot.running_warps = kernel.launch->warps_per_cta;
  slot.at_barrier = 0;
  slot.start_ps = std::max(schedule_.now_ps(), kernel.start.time_ps);
  // It keeps its slot while it waits: no later CTA may begin earlier.
  if (kernel.start.cta_ps)
    slot.start_ps = std::max(slot.start_ps, kernel.start.cta_ps(slot.number));
  if (--kernel.ctas_left == 0) queue_.pop_front();
  ++core.num_ctas;
  core.share_taken += kernel.cta_share;
  ++kernel.running_ctas;
  ++result_.num_ctas;
  start_warps(core_index, slot_index);
  return true;
}

void Cores::start_warps(std::uint32_t core_index, std::uint32_t slot_index) {
  Core& core = cores_[core_index];
  CtaSlot& slot = core.ctas[slot_index];
  slot.warps.clear();
  for (std::uint32_t number = 0; number < slot.running_warps; ++number) {
    std::ranges::pop_heap(core.free_warps, std::greater<>());
    const std::uint16_t index = core.free_warps.back();
    core.free_warps.pop_back();
    slot.warps.push_back(index);
    Warp& warp = core.warps[index];
    warp = Warp{};
    const WarpWork begin = feed_.begin(slot.work, number);
    warp.operation = begin.operation;
    warp.lines = begin.lines;
    warp.cta_slot = static_cast<std::uint16_t>(slot_index);
    warp.number = static_cast<std::uint16_t>(number);
    warp.stream = static_cast<std::uint16_t>(slot.stream);
    warp.running = true;
    schedule_.at(slot.start_ps, EventKind::warp_ready, Cores::number(core_index, index));
  }
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
  if (observer_ != nullptr) {
    observer_->cta_done(at.core_index, slot.number, {slot.start_ps, schedule_.now_ps()});
  }
  end_cta(at.core, slot);
  const std::size_t num_waiting = queue_.size();
  while (start_cta(at.core_index)) continue;
  // The next launch's CTAs may fit where those of the one before didn't.
  if (queue_.size() != num_waiting) fill_cores();
}

void Cores::end_cta(Core& core, CtaSlot& slot) {
  Kernel& kernel = kernels_[slot.stream];
  --core.num_ctas;
  core.share_taken -= kernel.cta_share;
  for (const std::uint16_t warp : slot.warps) {
    core.free_warps.push_back(warp);
    std::ranges::push_heap(core.free_warps, std::greater<>());
  }
  --kernel.running_ctas;
  note_end(slot.stream);
}

void Cores::begin_window(const Position& at) {
  CtaWork& work = at.core.ctas[at.warp.cta_slot].work;
  const WarpWork next = feed_.next_window(work, at.warp.number);
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

void Cores::release_barrier(Core& core, std::uint32_t core_index, std::uint32_t slot_index) {
  CtaSlot& slot = core.ctas[slot_index];
  if (slot.at_barrier == 0) return;
  slot.at_barrier = 0;
  ledger_.charge(slot.stream);
  const Picoseconds now = schedule_.now_ps();
  for (const std::uint16_t index : slot.warps) {
    Warp& warp = core.warps[index];
    if (!warp.running || !warp.at_barrier) continue;
    warp.at_barrier = false;
    result_.stalls.barrier_ps += now - warp.since_ps;
    ++warp.operation;
    on_warp_ready(number(core_index, index));
  }
}

std::string Cores::running_launches() const {
  std::string text;
  for (const Kernel& kernel : kernels_) {
    if (kernel.ctas_left == 0 && kernel.running_ctas == 0 && kernel.stores == 0) continue;
    text += (text.empty() ? "'" : ", '") + kernel.launch->name + "'";
  }
  return text;
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
      text += "warp " + std::to_string(warp.number) + " of CTA " + std::to_string(slot.number);
      if (kernels_.size() > 1) text += " of '" + kernels_[slot.stream].launch->name + "'";
      text += " on core " + std::to_string(core);
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
