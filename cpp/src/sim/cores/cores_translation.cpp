// TLBs and page walks.
#include <algorithm>

#include "sim/cores/cores.hpp"

namespace isthmus::sim {

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
