// All cores: CTAs, issue, load/store units, L1 caches, TLBs and page walks.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "sim/cores/core.hpp"
#include "sim/ledger.hpp"
#include "sim/migration/residency.hpp"
#include "sim/observer.hpp"
#include "sim/result.hpp"

namespace isthmus::sim {

/// How long a line keeps a core's load/store unit busy.
Picoseconds unit_line_ps(const ModelledMachine& machine);

/// What delayed a load's line.
struct Served {
  Picoseconds time_ps = 0;
  Picoseconds migration_ps = 0;  ///< waiting for pages
};

/// Handles the events of cores. Line requests leave through the schedule and return through
/// served().
class Cores {
public:
  /// lookahead_ps  a line's time is known at least this long before it arrives
  /// feed          CTAs come from it
  /// num_streams   each runs one launch at a time
  Cores(const ModelledMachine& machine, Picoseconds lookahead_ps, const AddressMap& map,
        Residency& residency, CtaFeed& feed, std::size_t num_streams, Schedule& schedule,
        Result& result, Observer* observer);

  /// When a launch begins, and, unless it is null, when its CTAs may begin.
  struct LaunchStart {
    Picoseconds time_ps = 0;
    std::function<Picoseconds(std::uint32_t cta)> cta_ps;
  };
  /// Begins a launch of a stream in which none runs. Its CTAs begin after all CTAs of launches that
  /// began before have begun, wherever there is room.
  ///
  /// launch      its index
  /// empty_l1    if no other launch runs
  /// Throws      UsageError if a CTA doesn't fit on a core.
  void begin_launch(std::uint32_t stream, std::uint32_t launch, LaunchStart start, bool empty_l1);
  bool has_ended() const { return has_ended_; }
  /// A stream whose launch has ended since this was last called: all of its CTAs and stores are done.
  std::optional<std::uint32_t> take_ended() {
    has_ended_ = !ended_.empty();
    if (!has_ended_) return std::nullopt;
    const std::uint32_t stream = ended_.back();
    ended_.pop_back();
    return stream;
  }
  /// When the last store of a stream's last launch was done.
  Picoseconds last_store_ps(std::uint32_t stream) const { return kernels_[stream].last_store_ps; }

  void prefetch(std::uint32_t warp) const {
    const Warp& of = cores_[warp >> 16U].warps[warp & 0xFFFFU];
    __builtin_prefetch(of.operation);
  }
  void on_warp_ready(std::uint32_t warp);
  void on_execute(std::uint32_t warp);
  void on_resume(std::uint32_t core);
  void on_translate(const LineRequest& request);

  /// Sets the time at which a load's or an atomic's line arrives at its core, for all warps that
  /// wait for it.
  void served(std::uint32_t core, std::uint32_t miss, Served served);
  /// A partition has taken a store of the core, at `time_ps`: it may send another one.
  void stored(const LineRequest& request, Picoseconds time_ps) {
    const std::uint32_t stream = stream_of_store(request);
    Kernel& kernel = kernels_[stream];
    kernel.last_store_ps = std::max(kernel.last_store_ps, time_ps);
    if (--kernel.stores == 0) note_end(stream);
    if (request.waiter >= kFirstWriteBack) return;
    Core& core = cores_[request.core];
    if (core.stores-- == max_stores_ && core.stalled) wake(core, request.core, schedule_.now_ps());
  }

  Ledger& ledger() { return ledger_; }
  /// Charges the stream of a request that isn't served yet.
  void charge(const LineRequest& request) {
    if (kernels_.size() == 1) return;
    if (request.kind == EventKind::store) return ledger_.charge(stream_of_store(request));
    const Core& core = cores_[request.core];
    const std::uint16_t first = core.waiters[std::size_t{request.waiter} * machine_.l1.merges];
    ledger_.charge(core.warps[first].stream);
  }

  /// The names of the launches that run, for a deadlock's message.
  std::string running_launches() const;
  /// The waiting warps and what they wait for, for a deadlock's message: at most `most` of them.
  std::string waiting_warps(std::size_t most) const;

private:
  struct Position {
    Core& core;
    std::uint32_t core_index;
    Warp& warp;
    std::uint32_t warp_index;  // in the core
  };
  /// The launch that a stream runs, or has run last.
  struct Kernel {
    const trace::Launch* launch = nullptr;
    std::uint32_t index = 0;
    LaunchStart start;
    std::uint32_t ctas_left = 0;  // that haven't begun
    std::uint32_t ctas_per_core = 0;
    std::uint64_t cta_share = 0;  // of a core's registers and shared memory, in 2^-32
    std::uint32_t running_ctas = 0;
    std::uint64_t stores = 0;  // under way
    Picoseconds last_store_ps = 0;
  };
  static constexpr Picoseconds kAccepted = 0;
  static constexpr std::uint32_t kNoShift = ~0U;
  static constexpr std::uint64_t kWholeShare = std::uint64_t{1} << 32U;

  Position position(std::uint32_t warp) {
    const std::uint32_t core = warp >> 16U;
    const std::uint32_t index = warp & 0xFFFFU;
    return {cores_[core], core, cores_[core].warps[index], index};
  }
  // The number of a warp in events.
  static std::uint32_t number(std::uint32_t core, std::uint32_t warp) { return core << 16U | warp; }

  // CTAs (cores_ctas.cpp)
  // Where kernels share a core, a slot's place doesn't depend on the kernel.
  std::uint32_t slots_per_core(const Kernel& kernel) const {
    return kernels_.size() == 1 ? kernel.ctas_per_core : machine_.cores.max_ctas;
  }
  void drop_large_work(std::uint32_t slots_per_core);
  void fill_cores();
  bool start_cta(std::uint32_t core);
  bool has_room(const Core& core, const Kernel& kernel) const;
  void start_warps(std::uint32_t core_index, std::uint32_t slot_index);
  void end_cta(Core& core, CtaSlot& slot);
  void note_end(std::uint32_t stream) {
    const Kernel& kernel = kernels_[stream];
    if (kernel.stores != 0 || kernel.running_ctas != 0 || kernel.ctas_left != 0) return;
    --running_launches_;
    ended_.push_back(stream);
    has_ended_ = true;
  }
  static std::uint32_t stream_of_store(const LineRequest& request) {
    return request.waiter < kFirstWriteBack ? request.waiter : kNobody - request.waiter;
  }
  void end_warp(const Position& at);
  void reach_barrier(const Position& at);
  void begin_window(const Position& at);
  void release_barrier(Core& core, std::uint32_t core_index, std::uint32_t slot);

  // The time of the issue slots of `instructions`, in whole picoseconds.
  Picoseconds issue_slots_ps(std::uint64_t instructions) const {
    const std::uint64_t rate = machine_.cores.issue_per_cycle;
    const std::uint64_t sum = instructions * cycle_ps_ + rate - 1;
    return issue_shift_ != kNoShift ? sum >> issue_shift_ : sum / rate;
  }

  /// A requested line, and its tags at its page's present generation.
  struct AskedLine {
    PlacedLine place;
    std::size_t l1_set;
    std::uint64_t tag;   // in caches
    std::uint64_t page;  // in TLBs
  };
  std::size_t l1_set(PlacedLine place) const {
    return l1_sets_are_power_of_two_ ? place.line() & (l1_sets_ - 1) : place.line() % l1_sets_;
  }
  AskedLine asked(PlacedLine place) const {
    const std::uint32_t page = map_.page_of(place.line());
    const std::uint32_t generation = residency_.generation(page);
    return {place, l1_set(place), CacheSets::tag_of(place.line(), generation),
            page | std::uint64_t{residency_.translation(page)} << 32U};
  }

  // Load/store unit (cores_lines.cpp)
  std::size_t find(Core& core, const AskedLine& line) const {
    return l1_sets_ == 0 ? CacheSets::kNowhere : core.l1.find(line.l1_set, line.tag);
  }
  void run_unit(Core& core, std::uint32_t core_index);
  bool run_operation(const Position& at);
  // These return kAccepted, or the time until which there is no room: kNever if it is unknown.
  // `time_ps` is the line's turn, which they may delay.
  Picoseconds accept(const Position& at, trace::OpKind kind, const AskedLine& line,
                     Picoseconds& time_ps);
  Picoseconds accept_load(const Position& at, const AskedLine& line, Picoseconds& time_ps);
  Picoseconds accept_hit(const Position& at, std::size_t way, const AskedLine& line,
                         Picoseconds time_ps);
  Picoseconds accept_miss(const Position& at, const AskedLine& line, Picoseconds& time_ps);
  Picoseconds accept_atomic(const Position& at, const AskedLine& line, Picoseconds& time_ps);
  Picoseconds accept_store(const Position& at, const AskedLine& line, Picoseconds time_ps);
  Picoseconds accept_local_store(const Position& at, const AskedLine& line, Picoseconds time_ps);
  void stall(Core& core, std::uint32_t core_index, Picoseconds until_ps,
             Picoseconds wake_before_ps);
  void wake(Core& core, std::uint32_t core_index, Picoseconds time_ps);
  void stay(const Position& at, const AskedLine& line, Picoseconds time_ps, bool anybody);
  struct OnItsWay {
    Picoseconds filled_ps;
    std::uint32_t miss;
  };
  void place_in_l1(const Position& at, std::size_t way, const AskedLine& line, const OnItsWay& from,
                   Picoseconds time_ps);
  void write_back(const Position& at, std::size_t way, Picoseconds time_ps);
  void drop_from_l1(Core& core, const AskedLine& line);
  static Picoseconds free_a_miss(Core& core, Picoseconds& time_ps);
  std::uint32_t take_miss(const Position& at, std::size_t l1_way);
  void send(EventKind kind, const Position& at, std::uint32_t miss, const AskedLine& line,
            Picoseconds time_ps);
  // The last line to arrive determines when an operation ends, and what it waited for.
  static void line_here(const Position& at, Picoseconds time_ps, Picoseconds translation_ps,
                        Picoseconds migration_ps) {
    if (time_ps < at.warp.ready_ps) return;
    at.warp.ready_ps = time_ps;
    at.warp.translation_ps = translation_ps;
    at.warp.migration_ps = migration_ps;
  }
  void end_operation(const Position& at);

  // Translation: cores_translation.cpp.

  // The time when the line's translation is available: `time_ps` for a hit, kNever if a translate
  // event must determine it.
  Picoseconds translate(Core& core, const AskedLine& line, Picoseconds time_ps) {
    const std::uint32_t entry = core.tlb.find(line.page);
    ++result_.tlb.accesses;
    if (entry != Lookaside::kAbsent) {
      const Picoseconds ready = core.tlb.ready_ps(entry);
      if (ready <= time_ps) return time_ps;
      ++result_.tlb.misses;
      return ready;
    }
    ++result_.tlb.misses;
    core.tlb.set_ready_ps(core.tlb.insert(line.page), kNever);
    return kNever;
  }
  Picoseconds look_up_shared(std::uint64_t key, Picoseconds time_ps);
  Picoseconds walk(Picoseconds time_ps);

  const ModelledMachine& machine_;
  const AddressMap& map_;
  Residency& residency_;
  Schedule& schedule_;
  Result& result_;
  Observer* observer_;

  Picoseconds lookahead_ps_;
  Picoseconds cycle_ps_;
  Picoseconds dependent_issue_ps_;  // from one instruction to the next of its warp
  Picoseconds unit_line_ps_;
  Picoseconds network_ps_;
  Picoseconds l1_hit_ps_;
  std::uint32_t warps_per_core_;
  std::uint32_t l1_sets_;          // 0: no L1
  bool l1_sets_are_power_of_two_;  // false also if there is none
  bool stores_wait_;               // like atomic operations
  std::uint32_t max_stores_;       // of a core
  std::uint32_t issue_shift_;      // log2 of the instructions a cycle, or kNoShift
  std::vector<Core> cores_;
  std::vector<Lookaside> shared_tlb_;  // zero or one
  std::vector<Picoseconds> walker_free_ps_;

  CtaFeed& feed_;
  Ledger ledger_;
  std::vector<Kernel> kernels_;      // of each stream
  std::deque<std::uint32_t> queue_;  // streams whose launches have CTAs that haven't begun
  std::vector<std::uint32_t> ended_;
  bool has_ended_ = false;  // there may be some
  std::uint32_t running_launches_ = 0;
};

}  // namespace isthmus::sim
