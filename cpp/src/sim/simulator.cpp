#include "sim/simulator.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <isthmus/errors.hpp>

#include "pages/policy_names.hpp"
#include "sim/cores/cores.hpp"
#include "sim/deadlock.hpp"
#include "sim/least_time.hpp"
#include "sim/migration/gmmu.hpp"
#include "sim/migration/hinted_memory.hpp"
#include "sim/streamed_copies.hpp"

namespace isthmus::sim {
namespace {

constexpr std::uint64_t kEventsBetweenPolls = 1U << 12U;  // a fraction of a millisecond

// Least time from a load's event at its partition to its core. Remote data passes no port or L2.
Picoseconds lookahead_ps(const ModelledMachine& machine, const pages::MigrationPolicy& policy,
                         const Options& options) {
  using pages::PolicyKind;
  const bool remote =
      policy.kind == PolicyKind::zero_copy || policy.kind == PolicyKind::access_counter ||
      options.hints == Hints::advise ||
      (options.own != nullptr && options.own->table->remote != 0) ||
      (policy.kind == PolicyKind::ranges && policy.overflow == pages::Overflow::refuse);
  const Picoseconds cycle = cycle_ps(machine.cores.clock_hz);
  const Picoseconds network = machine.network.latency_cycles * cycle;
  if (options.mode == Mode::migrate && remote) return network;
  return network + machine.partitions.l2_cycles * cycle + port_line_ps(machine);
}

ProgrammerData data_of_programmer(const Options& options, const trace::Program& program) {
  if (options.programmer_data != ProgrammerData::uploads_or_touched) return options.programmer_data;
  const auto copies = [](const trace::HostStep& step) {
    return trace::copies_to_gpu(step.kind) && step.size_bytes != 0;
  };
  const bool uploads = std::ranges::any_of(program.launches, [&](const trace::Launch& launch) {
    return std::ranges::any_of(launch.before, copies);
  });
  return uploads ? ProgrammerData::uploads : ProgrammerData::touched_global;
}

/// One run: the parts of the machine, and the order of its steps.
class Simulation {
public:
  Simulation(const ModelledMachine& machine, const pages::MigrationPolicy& policy,
             const Options& options, trace::Source& source, Observer* observer)
      : options_(options),
        observer_(observer),
        map_(machine, policy.page_bytes),
        residency_(map_),
        least_(machine, source),
        feed_(least_, map_, [this] { grow(); }),
        cores_(machine, lookahead_ps(machine, policy, options), map_, residency_, schedule_,
               result_, observer),
        link_(machine.link, result_.utilisation, observer),
        gmmu_(machine, policy, options, map_, residency_, schedule_, cores_, link_, result_,
              observer),
        programmer_data_(data_of_programmer(options, source.program())),
        launch_ps_(machine.launch.latency_ps),
        faults_(machine.faults),
        coherent_(machine.link.coherent) {
    if (options.mode == Mode::migrate && options.hints != Hints::none) {
      hinted_.emplace(machine, options, source, map_, link_, gmmu_, [this] { grow(); });
      hinted_->count_advice(result_);
    }
    if (options.mode != Mode::overlapped) return;
    streams_.emplace(plan_copies(source, options.chunk_bytes, options.chunk_order),
                     options.count_downloads, link_, result_.traffic);
  }

  Result operator()() {
    const trace::Program& program = feed_.program();
    for (std::uint32_t index = 0; index < program.launches.size(); ++index) launch(index);
    feed_.check_end();
    gmmu_.count_ranges();
    host_steps(program.after, static_cast<std::uint32_t>(program.launches.size()));
    copy_what_was_touched();
    finish();
    return std::move(result_);
  }

private:
  void grow() {
    residency_.grow([this](std::uint32_t chunk) { return gmmu_.starts_resident(chunk); },
                    options_.mode != Mode::migrate);
  }

  void launch(std::uint32_t index) {
    const trace::Launch& launch = feed_.program().launches[index];
    host_steps(launch.before, index);
    if (hinted_) hinted_->begin_launch(index, time_ps_);
    const Picoseconds start = start_of_launch(index);
    gmmu_.begin_launch();
    feed_.begin_launch(index);
    cores_.begin_launch(launch, feed_, {start, cta_starts(index)},
                        !options_.l1_kept_between_launches);
    run_events(launch);
    time_ps_ = std::max({start, schedule_.now_ps(), gmmu_.last_store_ps()});
    result_.launches.push_back({start, time_ps_});
    result_.kernel_ps += time_ps_ - start;
    if (observer_ == nullptr) return;
    observer_->counted(time_ps_, result_, true);
    observer_->launched(launch.name, {start, time_ps_});
  }

  // A launch waits for the downloads of what it stores to, and for its first CTA's chunks.
  Picoseconds start_of_launch(std::uint32_t index) {
    const Picoseconds soonest = time_ps_ + launch_ps_;
    if (!streams_) return soonest;
    const Picoseconds copied =
        std::max(streams_->stores_may_begin_ps(index), streams_->arrived_ps(index, 0));
    const Picoseconds start = std::max(soonest, copied + launch_ps_);
    result_.copy_ps += start - soonest;
    return start;
  }

  std::function<Picoseconds(std::uint32_t)> cta_starts(std::uint32_t launch) const {
    if (!streams_) return nullptr;
    return [this, launch](std::uint32_t cta) {
      return streams_->arrived_ps(launch, cta) + launch_ps_;
    };
  }

  bool launch_done() const {
    return cores_.running_ctas() == 0 && cores_.stores_sent() == gmmu_.stores_done();
  }

  void run_events(const trace::Launch& launch) {
    while (!launch_done()) {
      if (schedule_.empty()) fail(launch);
      const Event event = schedule_.next();
      if (const Event* soon = schedule_.soon(); soon != nullptr) prefetch(*soon);
      handle(event);
      if (schedule_.num_events() % kEventsBetweenPolls == 0 && observer_ != nullptr) {
        observer_->poll(schedule_.now_ps());
        observer_->counted(schedule_.now_ps(), result_, false);
      }
    }
  }

  void prefetch(const Event& event) const {
    const EventKind kind = Schedule::kind(event);
    if (kind <= EventKind::execute) return cores_.prefetch(Schedule::index(event));
    if (kind >= EventKind::load && kind <= EventKind::atomic) {
      gmmu_.prefetch(LineRequest::of(event));
    }
  }

  void handle(const Event& event) {
    const std::uint32_t index = Schedule::index(event);
    switch (Schedule::kind(event)) {
      case EventKind::warp_ready:
        return cores_.on_warp_ready(index);
      case EventKind::execute:
        return cores_.on_execute(index);
      case EventKind::resume:
        return cores_.on_resume(index);
      case EventKind::translate:
        return cores_.on_translate(LineRequest::of(event));
      case EventKind::load:
      case EventKind::store:
      case EventKind::atomic:
        return gmmu_.on_line(LineRequest::of(event));
      case EventKind::transfer:
        return gmmu_.on_transfer(index);
      case EventKind::arrived:
        return gmmu_.on_arrived(index);
      case EventKind::faults:
        return gmmu_.on_faults();
    }
  }

  // Migrations that nothing waits for continue while the next kernel runs, but not while the CPU
  // takes its pages back.
  void host_steps(const std::vector<trace::HostStep>& steps, std::uint32_t launches_done) {
    if (streams_) return streams_->launches_ended(launches_done, time_ps_);
    if (steps.empty() || options_.mode == Mode::ideal) return;
    if (hinted_) {
      for (const trace::HostStep& step : steps) hinted_->note(step);
    }
    if (options_.mode == Mode::migrate && options_.cpu_requests == CpuRequests::left_out) return;
    while (!schedule_.empty()) handle(schedule_.next());
    time_ps_ = std::max(time_ps_, schedule_.now_ps());
    const Picoseconds start = time_ps_;
    for (const trace::HostStep& step : steps) {
      if (options_.mode == Mode::programmer) {
        copy(step);
      } else {
        if (coherent_) {
          reach_over(step);
        } else {
          take_back(step);
        }
      }
    }
    result_.copy_ps += time_ps_ - start;
  }

  void copy(const trace::HostStep& step) {
    if (trace::copies_to_gpu(step.kind)) {
      if (programmer_data_ != ProgrammerData::uploads) return;
      result_.traffic.copied_to_gpu += step.size_bytes;
      time_ps_ = link_.to_gpu(time_ps_, step.size_bytes);
    } else if (options_.count_downloads) {
      result_.traffic.copied_to_cpu += step.size_bytes;
      time_ps_ = link_.to_cpu(time_ps_, step.size_bytes);
    }
  }

  void take_back(const trace::HostStep& step) {
    if (step.kind == trace::HostStep::Kind::upload_again) return;
    const bool advised = options_.hints == Hints::advise;
    const Picoseconds driver_before_ps = driver_back_ps();
    const std::uint64_t bytes = advised && hinted_
                                    ? hinted_->cpu_accesses(step)
                                    : gmmu_.cpu_request(step.address, step.size_bytes);
    if (bytes == 0) return;
    ++result_.returned_steps;
    if (!options_.count_downloads) return;
    time_ps_ = link_.to_cpu(time_ps_ + driver_back_ps() - driver_before_ps, bytes);
  }

  // What the driver takes for all that has gone back. A program that prefetches to the GPU
  // prefetches back, too. Otherwise the CPU faults.
  Picoseconds driver_back_ps() const {
    if (options_.hints == Hints::prefetch) {
      return result_.returned_steps * faults_.back_prefetch_ps +
             result_.returned_blocks * faults_.back_prefetch_block_ps;
    }
    return result_.returned_faults * faults_.back_fault_ps +
           result_.returned_pages * faults_.back_page_ps;
  }

  // The CPU reads and writes what is in the GPU's memory over a coherent link. Its reads take time
  // only if downloads count.
  void reach_over(const trace::HostStep& step) {
    using Kind = trace::HostStep::Kind;
    if (step.kind == Kind::upload_again) return;
    const bool writes = trace::copies_to_gpu(step.kind);
    const std::uint64_t bytes = gmmu_.cpu_access(step.address, step.size_bytes, writes);
    if (bytes == 0) return;
    if (writes) {
      result_.traffic.remote_to_gpu += bytes;
      time_ps_ = link_.to_gpu(time_ps_, bytes);
    } else {
      result_.traffic.remote_to_cpu += bytes;
      if (options_.count_downloads) time_ps_ = link_.to_cpu(time_ps_, bytes);
    }
  }

  // A programmer's copies of touched data, known only now but made before the start: all times
  // shift by them.
  void copy_what_was_touched() {
    if (options_.mode != Mode::programmer) return;
    if (programmer_data_ == ProgrammerData::uploads) return;
    std::uint64_t lines = gmmu_.touched_global_lines();
    if (programmer_data_ == ProgrammerData::touched_all) lines += gmmu_.touched_local_lines();
    if (programmer_data_ == ProgrammerData::touched_pages) lines = lines_of_touched_pages();
    result_.traffic.copied_to_gpu = lines * trace::kLineBytes;
    const Picoseconds end = link_.to_gpu(time_ps_, result_.traffic.copied_to_gpu);
    result_.copy_ps += end - time_ps_;
    time_ps_ = end;
  }

  std::uint64_t lines_of_touched_pages() const {
    std::uint64_t lines = 0;
    const std::uint32_t of_page = map_.lines_per_page();
    const std::uint64_t pages = std::uint64_t{map_.num_chunks()} * map_.lines_per_chunk() / of_page;
    for (std::uint32_t page = 0; page < pages; ++page) {
      const std::uint32_t first = map_.first_line(page);
      const bool is_local = map_.real_line(first) >= kLocalBase / trace::kLineBytes;
      if (!is_local && residency_.num_touched(first, of_page) != 0) lines += of_page;
    }
    return lines;
  }

  // What kernels have touched of the bytes that were copied or migrated to the GPU.
  std::uint64_t accessed_bytes() const {
    if (options_.mode == Mode::migrate) return result_.touched_bytes;
    if (programmer_data_ != ProgrammerData::uploads) {
      return std::min(result_.touched_bytes, result_.traffic.copied_to_gpu);
    }
    std::uint64_t bytes = 0;
    for (const trace::Launch& launch : feed_.program().launches) {
      for (const trace::HostStep& step : launch.before) {
        if (!trace::copies_to_gpu(step.kind)) continue;
        bytes += residency_.touched_bytes(step.address, step.address + step.size_bytes);
      }
    }
    return bytes;
  }

  void finish() {
    if (streams_ && streams_->end_ps() > time_ps_) {
      result_.copy_ps += streams_->end_ps() - time_ps_;
      time_ps_ = streams_->end_ps();
    }
    result_.total_ps = time_ps_;
    result_.least_ps = std::max(least_.total_ps(), link_.least_busy_ps(time_ps_));
    result_.tlb.misses_or_absent += result_.tlb.misses;
    result_.tlb.misses_or_absent_after_l1 += result_.tlb.misses_after_l1;
    const bool local_migrates = options_.local_memory == LocalMemory::migrates;
    result_.touched_bytes =
        (gmmu_.touched_global_lines() + (local_migrates ? gmmu_.touched_local_lines() : 0)) *
        trace::kLineBytes;
    if (options_.mode != Mode::ideal) result_.accessed_bytes = accessed_bytes();
    result_.link_to_gpu_busy_ps = link_.to_gpu_busy_ps();
    result_.link_to_cpu_busy_ps = link_.to_cpu_busy_ps();
    result_.events = schedule_.num_events();
    result_.event_digest = schedule_.digest();
  }

  [[noreturn]] void fail(const trace::Launch& launch) const {
    throw Deadlock("nothing can go on in launch '" + launch.name + "' after " +
                   std::to_string(schedule_.now_ps()) + " ps: " + cores_.waiting_warps(4) +
                   gmmu_.waiting());
  }

  const Options& options_;
  Observer* observer_;
  Result result_;
  Schedule schedule_;
  AddressMap map_;
  Residency residency_;
  LeastTime least_;
  CtaFeed feed_;
  Cores cores_;
  HostLink link_;
  Gmmu gmmu_;
  std::optional<HintedMemory> hinted_;     // with hints
  std::optional<StreamedCopies> streams_;  // in the mode overlapped
  ProgrammerData programmer_data_;
  Picoseconds launch_ps_;
  const FaultParameters& faults_;
  bool coherent_;
  Picoseconds time_ps_ = 0;
};

void check_options(const Options& options) {
  if (options.mode != Mode::overlapped) return;
  if (options.chunk_bytes == 0) throw UsageError("options.chunk_bytes is 0: it must be 1 or more");
  if (options.programmer_data != ProgrammerData::uploads)
    throw UsageError(
        "overlapped copies are the program's own: options.programmer_data must be "
        "uploads");
}

/// Belady's eviction: a first run, in which the page that was accessed longest ago leaves, records
/// the order of accesses. Its events are nobody's, but it can be stopped.
Result with_foresight(const ModelledMachine& machine, const pages::MigrationPolicy& policy,
                      Options options, trace::Source& source, Observer* observer) {
  struct OnlyPolls : Observer {
    Observer* to = nullptr;
    void poll(Picoseconds now_ps) override { return to ? to->poll(now_ps) : void(); }
  } polls;
  polls.to = observer;
  pages::UseOrder order;
  Options first = options;
  first.eviction.kind = pages::EvictionKind::lru;
  first.eviction.recency = pages::Recency::access;
  first.eviction.record = &order;
  Simulation(machine, policy, first, source, &polls)();
  options.eviction.order = &order;
  return Simulation(machine, policy, options, source, observer)();
}

}  // namespace

Result simulate(const ModelledMachine& machine, const pages::MigrationPolicy& policy,
                const Options& options, trace::Source& source, Observer* observer) {
  check_machine(machine);
  pages::check(policy);
  check_options(options);
  if (options.eviction.kind == pages::EvictionKind::belady && options.mode == Mode::migrate)
    return with_foresight(machine, policy, options, source, observer);
  return Simulation(machine, policy, options, source, observer)();
}

}  // namespace isthmus::sim
